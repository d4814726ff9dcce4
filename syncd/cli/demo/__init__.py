"""What ``syncd demo`` is made of: repositories out of the sample environments, things to try, and the screen."""
