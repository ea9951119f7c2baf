from benchmarks import DATA
from benchmarks.bucketed import plots
from benchmarks.output.charts import command

command(plots.__doc__, plots.CHARTS, DATA / "bucketed")
