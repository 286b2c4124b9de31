# RestBench with documentation: TMDB and Spotify.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.restbench.configs import tooleval_restbench_rows

tooleval_restbench_tmdb_datasets = [row for row in tooleval_restbench_rows if row['abbr'] == 'tooleval-restbench-tmdb']
tooleval_restbench_spotify_datasets = [
    row for row in tooleval_restbench_rows if row['abbr'] == 'tooleval-restbench-spotify'
]
