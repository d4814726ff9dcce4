"""The few kinds of panels that the dashboards are made of, so that each dashboard reads as a list of questions.

A panel's description says what the panel shows and what to do about it. Widths are columns of Grafana's grid, which has
24; heights are its rows.
"""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from grafana_foundation_sdk.builders import bargauge, common, dashboard, heatmap, prometheus, stat, statetimeline
from grafana_foundation_sdk.builders import table as tables
from grafana_foundation_sdk.builders import timeseries as lines
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    BigValueTextMode,
    GraphDrawStyle,
    GraphTresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode, HeatmapColorScale
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.models.dashboard import Dashboard, Panel, ValueMapping

DATASOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
OVERVIEW: Final = "syncd-overview"
SYNC: Final = "syncd-sync"
DAEMON: Final = "syncd-daemon"

GOOD: Final = "green"
NOTICE: Final = "yellow"
WARNING: Final = "orange"
BAD: Final = "red"
QUIET: Final = "text"

Words = tuple[tuple[str, str], ...]
"""What the values 0, 1, 2 and so on are called, each with its colour."""

STATES: Final[Words] = (("Synced", GOOD), ("OutOfSync", WARNING), ("Unknown", BAD))
HEALTHS: Final[Words] = (
    ("Healthy", GOOD), ("Suspended", QUIET), ("Progressing", "blue"), ("Missing", WARNING), ("Degraded", BAD),
    ("Unknown", "purple"),
)  # fmt: skip
FLAGS: Final[Words] = (("no", GOOD), ("yes", WARNING))

Levels = tuple[str | tuple[float, str], ...]
"""The colour of small values, then each value from which another colour holds."""


class Query(NamedTuple):
    """An expression, and what its series are called."""

    expr: str
    legend: str = ""


class Column(NamedTuple):
    """One column of a table: an expression with one value for each row."""

    name: str
    expr: str
    unit: str = units.Short
    levels: Levels = ()
    words: Words = ()


_AnyPanel = TypeVar(
    "_AnyPanel", stat.Panel, lines.Panel, tables.Panel, statetimeline.Panel, bargauge.Panel, heatmap.Panel
)


def growth(counter: str, selector: str, *labels: str) -> str:
    """How much a counter has grown in the time of one point, by labels.

    Counters whose labels are found out as things happen begin at 1 or more, and increase() does not see that first
    step, which for rare things is all there is. So what was not there before counts in full.
    """
    series = f"{counter}{{{selector}}}"
    before = f"{series} offset $__rate_interval"
    grown = f"(increase({series}[$__rate_interval]) and {before}) or ({series} unless {before})"
    return f"sum by ({', '.join(labels)}) ({grown})" if labels else f"sum({grown})"


def figure(
    title: str,
    description: str,
    query: str | Query,
    *,
    unit: str = units.Short,
    levels: Levels = (QUIET,),
    words: Words = (),
    nothing: str = "none",
) -> stat.Panel:
    """One number, or the one word that stands for it; ``nothing`` is what to say when there is no series."""
    asked = query if isinstance(query, Query) else Query(query)
    panel = _begin(stat.Panel(), title, description, unit, (3, 4))
    panel = panel.with_target(_target(0, asked).instant()).no_value(nothing).thresholds(_thresholds(levels))
    panel = panel.color_mode(BigValueColorMode.VALUE).graph_mode(BigValueGraphMode.NONE)
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    if asked.legend:
        panel = panel.text_mode(BigValueTextMode.NAME)
    return panel.mappings(_mappings(words)) if words else panel


def series(
    title: str,
    description: str,
    *queries: Query,
    unit: str = units.Short,
    levels: Levels = (),
    stacked: bool = False,
    width: int = 12,
    height: int = 8,
) -> lines.Panel:
    """Lines over time; ``stacked`` for parts of a whole, which are drawn as bars. Levels are drawn as dashed lines."""
    panel = _begin(lines.Panel(), title, description, unit, (width, height)).min(0)
    for index, query in enumerate(queries):
        panel = panel.with_target(_target(index, query))
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.BOTTOM)
    panel = panel.legend(legend.calcs(["lastNotNull", "max"]).show_legend(True))
    panel = panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    panel = panel.show_points(VisibilityMode.NEVER).fill_opacity(10)
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL))
        panel = panel.draw_style(GraphDrawStyle.BARS).fill_opacity(70)
    if levels:
        style = common.GraphThresholdsStyleConfig().mode(GraphTresholdsStyleMode.DASHED)
        panel = panel.thresholds(_thresholds(levels)).thresholds_style(style)
    return panel


def timeline(
    title: str, description: str, *queries: Query, words: Words, width: int = 24, height: int = 6
) -> statetimeline.Panel:
    """A band for each series, coloured by the word for its value."""
    panel = _begin(statetimeline.Panel(), title, description, units.NoUnit, (width, height))
    for index, query in enumerate(queries):
        panel = panel.with_target(_target(index, query))
    panel = panel.mappings(_mappings(words)).thresholds(_thresholds((GOOD,)))
    panel = panel.merge_values(True).show_value(VisibilityMode.AUTO).row_height(0.8).line_width(0).fill_opacity(80)
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    return panel.legend(legend.show_legend(True))


def bars(
    title: str,
    description: str,
    query: Query,
    *,
    unit: str,
    levels: Levels,
    most: float | None = None,
    width: int = 12,
) -> bargauge.Panel:
    """A bar for each series as it is now; ``most`` is the value of a full bar."""
    panel = _begin(bargauge.Panel(), title, description, unit, (width, 8)).min(0).no_value("none")
    if most is not None:
        panel = panel.max(most)
    panel = panel.with_target(_target(0, query).instant()).thresholds(_thresholds(levels))
    panel = panel.display_mode(BarGaugeDisplayMode.BASIC).orientation(VizOrientation.HORIZONTAL)
    return panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))


def heat(title: str, description: str, expr: str, *, width: int = 12, height: int = 8) -> heatmap.Panel:
    """How a histogram of seconds changes over time; the expression gives a number for each ``le``."""
    panel = _begin(heatmap.Panel(), title, description, units.Short, (width, height)).calculate(False)
    panel = panel.with_target(_target(0, Query(expr, "{{le}}")).format(PromQueryFormat.HEATMAP))
    panel = panel.y_axis(heatmap.YAxisConfig().unit(units.Seconds)).show_tooltip()
    colours = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(32)
    return panel.color(colours.scale(HeatmapColorScale.EXPONENTIAL).exponent(0.5).fill("dark-orange"))


def table(
    title: str, description: str, *columns: Column, label: str, heading: str, link: str, height: int
) -> tables.Panel:
    """A row for each value of one label, which links and has a heading; the greatest of the first column is on top."""
    panel = _begin(tables.Panel(), title, description, units.Short, (24, height)).no_value("")
    for index, column in enumerate(columns):
        panel = panel.with_target(_target(index, Query(column.expr)).instant().format(PromQueryFormat.TABLE))
        panel = panel.override_by_name(column.name, list(_properties(column)))
    names = {f"Value #{_ref(index)}": column.name for index, column in enumerate(columns)}
    order = {label: 0, **{name: index + 1 for index, name in enumerate(names)}}
    panel = panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
    organize = {"excludeByName": {"Time": True}, "renameByName": {label: heading, **names}, "indexByName": order}
    panel = panel.with_transformation(DataTransformerConfig(id_val="organize", options=organize))
    target = [{"title": "In depth", "url": link}]
    panel = panel.override_by_name(heading, [DynamicConfigValue(id_val="links", value=target)])
    first = common.TableSortByFieldState().display_name(columns[0].name).desc(True)
    return panel.sort_by([first]).show_header(True)


def page(
    uid: str,
    title: str,
    description: str,
    variables: Iterable[Builder[Any]],
    rows: Mapping[str, Iterable[Builder[Panel]]],
) -> Dashboard:
    """A whole dashboard: named rows of panels, below the variables, with links to the other dashboards."""
    links = dashboard.DashboardLink("syncd").type(DashboardLinkType.DASHBOARDS).tags(["syncd"])
    links = links.keep_time(True).include_vars(True).as_dropdown(False).icon("external link")
    built = dashboard.Dashboard(title).uid(uid).description(description).tags(["syncd"]).editable()
    built = built.time("now-6h", "now").refresh("30s").timezone("browser").link(links)
    built = built.tooltip(DashboardCursorSync.CROSSHAIR).with_variable(_datasource())
    for variable in variables:
        built = built.with_variable(variable)
    for name, row in rows.items():
        built = built.with_row(dashboard.Row(name))
        for panel in row:
            built = built.with_panel(panel)
    made = built.build()
    for number, panel_made in enumerate(made.panels or (), start=1):
        panel_made.id_val = number
    return made


def variable(
    name: str, title: str, description: str, query: str, *, regex: str = "", everything: str = ""
) -> dashboard.QueryVariable:
    """A choice among the values of a label; ``everything`` is the regular expression that stands for all of them."""
    chosen = dashboard.QueryVariable(name).label(title).description(description).datasource(DATASOURCE)
    chosen = chosen.query({"query": query, "refId": f"variable-{name}"}).regex(regex)
    chosen = chosen.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_ASC)
    return chosen.multi(True).include_all(True).all_value(everything) if everything else chosen


def _datasource() -> dashboard.DatasourceVariable:
    chosen = dashboard.DatasourceVariable("datasource").label("Data source")
    return chosen.type("prometheus").description("The Prometheus that scrapes syncd")


def _begin(panel: _AnyPanel, title: str, description: str, unit: str, size: tuple[int, int]) -> _AnyPanel:
    width, height = size
    return panel.title(title).description(description).unit(unit).span(width).height(height).datasource(DATASOURCE)


def _ref(index: int) -> str:
    return ascii_uppercase[index]


def _target(index: int, query: Query) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).ref_id(_ref(index)).datasource(DATASOURCE)
    return target.legend_format(query.legend) if query.legend else target


def _thresholds(levels: Levels) -> dashboard.ThresholdsConfig:
    steps = [
        Threshold(None, level) if isinstance(level, str) else Threshold(float(level[0]), level[1]) for level in levels
    ]
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _mappings(words: Words) -> list[ValueMapping]:
    named = enumerate(words)
    return [ValueMap({str(value): ValueMappingResult(word, color, index=value) for value, (word, color) in named})]


def _properties(column: Column) -> Iterable[DynamicConfigValue]:
    yield DynamicConfigValue(id_val="unit", value=column.unit)
    if column.words:
        yield DynamicConfigValue(id_val="mappings", value=_mappings(column.words))
    if column.levels:
        yield DynamicConfigValue(id_val="thresholds", value=_thresholds(column.levels).build())
    if column.words or column.levels:
        yield DynamicConfigValue(id_val="color", value={"mode": FieldColorModeId.THRESHOLDS})
        yield DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"})
