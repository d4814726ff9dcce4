"""Pure merging: original, modified and live in; a patch or a merged document out."""
