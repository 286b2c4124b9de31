# RestBench with EasyTool instructions, and (`_ids`) with the prompt of EasyTool's script: TMDB and Spotify.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.restbench.configs import tooleval_restbench_rows

tooleval_restbench_tmdb_easytool_datasets = [
    row for row in tooleval_restbench_rows if row['abbr'] == 'tooleval-restbench-tmdb-easytool'
]
tooleval_restbench_spotify_easytool_datasets = [
    row for row in tooleval_restbench_rows if row['abbr'] == 'tooleval-restbench-spotify-easytool'
]
tooleval_restbench_tmdb_easytool_ids_datasets = [
    row for row in tooleval_restbench_rows if row['abbr'] == 'tooleval-restbench-tmdb-easytool-ids'
]
tooleval_restbench_spotify_easytool_ids_datasets = [
    row for row in tooleval_restbench_rows if row['abbr'] == 'tooleval-restbench-spotify-easytool-ids'
]
