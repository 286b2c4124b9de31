from mmengine.config import read_base

with read_base():
    from .tooleval_restbench_fc_rows import tooleval_restbench_fc_rows

tooleval_restbench_spotify_fc_datasets = [row for row in tooleval_restbench_fc_rows if row['name'] == 'spotify']
