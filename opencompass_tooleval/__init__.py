"""T-Eval, UltraTool and EasyTool as ordinary OpenCompass configs."""

from opencompass_tooleval.catalogue import benchmark as _table

__version__ = '0.2.0'

_table.BENCHMARKS |= {
    **{
        name: f'{__name__}.benchmarks.{name}.files:BENCHMARK'
        for name in ('teval', 'ultratool', 'restbench', 'funcqa', 'toolbench')
    },
    'agents': f'{__name__}.agents.files:BENCHMARK',
}
_table.USERS |= {'made': f'{__name__}.making.metrics:BENCHMARK'}
_table.VARIANTS |= {
    'easytool': f'{__name__}.benchmarks.variant_kinds:EASYTOOL',
    'function_calling': f'{__name__}.benchmarks.variant_kinds:FUNCTION_CALLING',
}
