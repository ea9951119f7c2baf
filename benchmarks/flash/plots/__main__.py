from benchmarks.flash import plots
from benchmarks.flash.results import FOLDER
from benchmarks.output.charts import command

command(plots.__doc__, plots.CHARTS, FOLDER)
