"""The judge: its requests, its kept replies, no repeated requests; and the resulting scores."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from datasets import Dataset

from opencompass_tooleval.benchmarks.ultratool.judge import LABELS, parse_scores, prompt_hash
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.usage_summary import summary_of
from opencompass_tooleval.judging import judge as judging
from opencompass_tooleval.judging.judge import TRIES, Judge, judge_cfg_from_env, judge_settings, settings_hash
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging, single
from opencompass_tooleval.judging.judgement import UnjudgedError, Unread
from opencompass_tooleval.models.model_calls import AskingEndedError
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.benchmarks.ultratool.support import make_record
from tests.conftest import ModelServer, start_server
from tests.judging.support import Script, Scripted, away, evaluate, scripted, server_cfg

__all__ = ['away', 'scripted']  # fixtures
KEY = 'right'


def reply(task: str, score: float, **others: float) -> str:
    """What a judge says that gives ``score`` in every dimension but ``others``."""
    scores = {**dict.fromkeys(LABELS[task], score), **others}
    return json.dumps(
        [{'理由': '...', LABELS[task][name][0]: value} for name, value in scores.items()], ensure_ascii=False
    )


SEVEN = reply('planning', 7)


def read(text: str) -> float | Unread:
    """The overall score of a reply about a plan."""
    found = parse_scores(text, 'planning')
    return found if isinstance(found, Unread) else found.scores['overall']


def asked(judge: Judge, items: Sequence[JudgeItem]) -> dict[str, Any]:
    """Id -> verdict, or why there is none."""
    found = judge.converse({place: single(item) for place, item in enumerate(items)})
    return {item.id: found[place] for place, item in enumerate(items)}


def judged(judge: Judge, items: Sequence[JudgeItem]) -> dict[str, Any]:
    """Id -> verdict, where there is one."""
    return {name: verdict for name, verdict in asked(judge, items).items() if not isinstance(verdict, Unread)}


def items(count: int) -> list[JudgeItem]:
    return [JudgeItem(str(i), f'plan {i}.', read) for i in range(count)]


def journal(folder: Path) -> list[dict[str, Any]]:
    """Every whole row that any judge keeps below ``folder``."""
    files = sorted(folder.glob('judgements/*/*.jsonl'))
    return [json.loads(line) for file in files for line in file.read_text(encoding='ascii').splitlines()]


def kept(folder: Path) -> list[dict[str, Any]]:
    """The rows of replies that could be read."""
    return [row for row in journal(folder) if 'fault' not in row]


def unread(folder: Path) -> list[dict[str, Any]]:
    """The rows of those that could not."""
    return [row for row in journal(folder) if 'fault' in row]


@pytest.fixture(scope='module')
def server_process() -> Iterator[ModelServer]:
    """A judge that gives 7 in every dimension, whatever it is asked."""
    server = start_server('--canned', SEVEN, '--key', KEY)
    yield server
    server.stop()


@pytest.fixture
def server(server_process: ModelServer) -> ModelServer:
    """The server, with no faults, nothing asked yet and nobody waiting."""
    server_process.settle()
    return server_process


def digests(server: ModelServer) -> list[str]:
    return [asked['digest'] for asked in server.stats()['asked']]


# Asking


def test_everything_is_judged_at_the_same_time(server: ModelServer, tmp_path: Path) -> None:
    server.reset(latency=0.2)
    judge = Judge(server_cfg(server), tmp_path)
    assert judged(judge, items(10)) == {str(i): 7.0 for i in range(10)}
    stats = server.stats()
    assert judge.calls == stats['requests'] == len(set(digests(server))) == 10
    assert 2 <= stats['most_in_flight'] <= 4
    assert sorted(row['id'] for row in kept(tmp_path)) == [str(i) for i in range(10)]


def test_batches_are_of_the_size_that_the_config_says(scripted: Script, tmp_path: Path) -> None:
    judged(Judge(scripted(lambda *_: SEVEN, batch_size=4, max_out_len=16), tmp_path), items(10))
    assert Scripted.batches == [4, 4, 2]
    judged(Judge(scripted(lambda *_: SEVEN, path='another'), tmp_path), items(65))
    assert Scripted.batches == [64, 1]


@pytest.mark.parametrize('times', [0, TRIES - 1, TRIES])
def test_an_unreadable_reply_is_asked_again_three_times(scripted: Script, tmp_path: Path, times: int) -> None:
    judge = Judge(scripted(lambda item, before: 'No idea.' if item == '3' and before < times else SEVEN), tmp_path)
    found = asked(judge, items(6))
    assert found == {str(i): 7.0 for i in range(6)} | ({'3': Unread('unread')} if times == TRIES else {})
    assert Scripted.asked.count('3') == min(times + 1, TRIES) and judge.calls == len(Scripted.asked)
    assert [row['reply'] for row in kept(tmp_path)] == [SEVEN] * (5 + (times < TRIES))
    assert [(row['id'], row['reply'], row['fault']) for row in unread(tmp_path)] == [
        ('3', 'No idea.', 'unread')
    ] * times


@pytest.mark.parametrize(
    'bad',
    [
        pytest.param('', id='empty'),
        pytest.param('I would rather not say.', id='prose'),
        pytest.param(reply('planning', 7, efficiency=11), id='over 10'),
        pytest.param('<think>' + SEVEN, id='thoughts that never end'),
        pytest.param(Answer(SEVEN, 'infra:timeout'), id='a failure with text'),
        pytest.param('[' * 100_000, id='brackets'),
    ],
)
def test_what_is_no_judgement_is_never_a_score_and_never_kept(
    scripted: Script, tmp_path: Path, bad: Answer | str
) -> None:
    verdicts = judged(Judge(scripted(lambda item, _: bad if item == '1' else SEVEN), tmp_path), items(3))
    assert verdicts == {'0': 7.0, '2': 7.0}
    assert [row['id'] for row in kept(tmp_path)] == ['0', '2']
    is_reply = isinstance(bad, str) and bad != ''
    assert len(unread(tmp_path)) == (TRIES if is_reply else 0)  # for people to look at, cut
    assert all(row['id'] == '1' and len(row['reply']) <= 2_000 for row in unread(tmp_path))


def test_unreadable_replies_do_not_fill_the_disk(
    scripted: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, 'MAX_UNREAD', 5)
    judge = Judge(scripted(lambda *_: 'x' * 100_000), tmp_path)
    assert asked(judge, items(6)) == {str(i): Unread('unread') for i in range(6)}
    assert [len(row['reply']) for row in journal(tmp_path)] == [2_000] * 5
    again = Judge(scripted(lambda *_: SEVEN), tmp_path)
    assert (len(judged(again, items(6))), again.calls) == (6, 6)  # what is kept for people is no judgement


# Faults of the server


def test_half_a_surrogate_pair_can_be_judged(scripted: Script, tmp_path: Path) -> None:
    class Encoding(Scripted):
        def reply(self, prompt: Any) -> Answer:
            prompt[0]['prompt'].encode('utf-8')  # as local tokenizers do
            return super().reply(prompt)

    cfg = {**scripted(lambda *_: SEVEN), 'type': Encoding}
    odd = [JudgeItem(text, f'plan {text}', read) for text in ('\ud83d', '\udc00', '\x00\u2028')]
    assert len(judged(Judge(cfg, tmp_path), odd)) == 3
    again = Judge(cfg, tmp_path)
    assert (len(judged(again, odd)), again.calls) == (3, 0)


def test_what_a_judge_costs_is_what_its_server_received(server: ModelServer, tmp_path: Path) -> None:
    """Unreadable replies too; what is kept from earlier is told by itself."""
    server.reset('500@2', 'empty@4', 'calls@6')
    judge = Judge(server_cfg(server, prices={'input': 1.0, 'output': 2.0}), tmp_path)
    assert len(judged(judge, items(8))) == 8
    spent, stats = summary_of(judge.usages, judge.prices), server.stats()
    assert spent is not None and spent['requests'] == stats['requests'] == 11 and judge.calls == 9
    assert spent['completion']['total'] == stats['tokens']['completion']
    assert spent['prompt']['total'] == stats['tokens']['prompt'] and spent['cost']['total'] > 0
    again = Judge(server_cfg(server), tmp_path)
    judged(again, items(9))
    assert again.calls == len(again.usages) == len(again.asked) == 1
    paid = [usage for usage in judge.usages if usage]
    assert len(again.cached_usages) == 8 and set(again.cached_usages.values()) < set(paid)


# Memory


def test_judges_in_several_processes_share_a_folder(server: ModelServer, tmp_path: Path) -> None:
    server.reset(latency=0.05)
    outputs = [tmp_path / 'first', tmp_path / 'second']
    children = []
    for output in outputs:
        children.append(os.fork())
        if not children[-1]:
            with suppress(BaseException):
                judge = Judge(server_cfg(server), tmp_path)
                output.write_text(json.dumps([judged(judge, items(24)), judge.calls, judge.settings]))
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    results = [json.loads(output.read_text()) for output in outputs]
    last = Judge(server_cfg(server), tmp_path)
    assert (len(judged(last, items(24))), last.calls) == (24, 0)
    assert all(result[0] == {str(i): 7.0 for i in range(24)} and result[2] == last.settings for result in results)
    assert server.stats()['requests'] == sum(result[1] for result in results) == len(kept(tmp_path))


def test_requests_are_counted_before_they_are_sent(
    scripted: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the stored replies lack; later requests of a dialogue are not known yet."""
    said: list[tuple[str, int]] = []
    cfg = scripted(lambda *_: SEVEN)
    logger = SimpleNamespace(info=lambda text: said.append((text, len(Scripted.asked))))
    monkeypatch.setattr('opencompass_tooleval.judging.judge.get_logger', lambda: logger)
    judged(Judge(cfg, tmp_path), items(4))
    judged(Judge(cfg, tmp_path), items(6))
    judged(Judge(cfg, tmp_path), items(6))
    counted = [(text.partition(': ')[2], asked) for text, asked in said if 'at least' in text]
    assert counted == [('at least 4 requests, for 4 answers', 0), ('at least 2 requests, for 6 answers', 4)]


def test_damaged_memory_costs_only_what_is_damaged(scripted: Script, tmp_path: Path) -> None:
    cfg = scripted(lambda *_: SEVEN)
    judged(Judge(cfg, tmp_path), items(6))
    (file,) = tmp_path.glob('judgements/*/*.jsonl')
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:20] + b'\n'
    lines[2] = b'\xff\xfe\n'
    lines[3] = json.dumps({'key': items(6)[3].key, 'reply': 'No idea.'}).encode() + b'\n'
    foreign = [b'[1]\n', b'{"idx": 0, "key": ["a"], "reply": {}}\n', b'{"idx": 0}\n', b'null\n', b'\n']
    file.write_bytes(b''.join([*foreign, *lines[:-1], lines[-1][:-9]]))
    again = Judge(cfg, tmp_path)
    assert judged(again, items(6)) == {str(i): 7.0 for i in range(6)}
    assert Scripted.asked[6:] == ['1', '2', '3', '5']


def test_a_replayed_judge_may_go_by_position(tmp_path: Path) -> None:
    """Although some judgements are kept from earlier, and one reply cannot be read."""
    replies = [reply('planning', score) for score in (1, 2, 3, 4, 5)]
    replies[3] = 'No idea.'
    file = tmp_path / 'judge-planning.json'
    file.write_text(json.dumps(replies), encoding='utf-8')
    cfg = {'type': 'ReplayModel', 'path': str(tmp_path / '{dataset}.json'), 'batch_size': 2}
    assert judged(Judge(cfg, tmp_path, 'planning'), items(2)) == {'0': 1.0, '1': 2.0}
    verdicts = judged(Judge(cfg, tmp_path, 'planning'), items(5))
    assert verdicts == {'0': 1.0, '1': 2.0, '2': 3.0, '4': 5.0}


# Several questions in a row


def plan_then_check(name: str, first: str = '') -> Judging[tuple[Any, ...]]:
    """Asks about a plan, and about it again what depends on the first verdict."""
    one = yield JudgeItem(name, first or f'plan {name}.', read)
    two = yield JudgeItem(f'{name}/2', f'after {one}: {first or name}', read)
    return one, two


def test_one_question_of_several_dialogues_is_asked_once(scripted: Script, tmp_path: Path) -> None:
    cfg = scripted(lambda item, before: 'No idea.' if before < 2 else SEVEN)
    judge = Judge(cfg, tmp_path)
    assert judge.converse({name: plan_then_check(name, 'same') for name in 'abc'}) == dict.fromkeys('abc', (7.0, 7.0))
    assert Scripted.asked == ['a'] * 3 + ['a/2'] * 3


def test_a_dialogue_is_told_that_there_is_no_verdict(scripted: Script, tmp_path: Path) -> None:
    judge = Judge(scripted(lambda item, _: 'No idea.' if item == 'b' else SEVEN), tmp_path)
    found = judge.converse({name: plan_then_check(name) for name in 'ab'})
    assert found == {'a': (7.0, 7.0), 'b': (Unread('unread'), 7.0)}


def test_repeats_are_asked_for_and_kept_by_themselves(scripted: Script, tmp_path: Path) -> None:
    cfg = scripted(lambda item, _: reply('planning', int(item) + 1))
    repeats = [JudgeItem(str(number), 'the same', read, repeat=number) for number in range(3)]
    assert judged(Judge(cfg, tmp_path), repeats) == {'0': 1.0, '1': 2.0, '2': 3.0}
    again = Judge(cfg, tmp_path)
    assert (judged(again, repeats[::-1]), again.calls) == ({'0': 1.0, '1': 2.0, '2': 3.0}, 0)


@pytest.mark.parametrize('times', [0, 3])
def test_after_an_end_of_asking_dialogues_go_on_where_they_were(
    server: ModelServer, tmp_path: Path, times: int
) -> None:
    """Whatever was answered before is not asked again, whichever question of a dialogue that was."""
    server.reset(f'402@{3 * times + 2}-')
    with pytest.raises(AskingEndedError, match='status 402'):
        Judge(server_cfg(server, max_workers=1), tmp_path).converse({n: plan_then_check(n) for n in 'abcdefg'})
    assert len(kept(tmp_path)) == 3 * times + 1
    first = {row['key'] for row in kept(tmp_path)}
    server.reset()
    judge = Judge(server_cfg(server), tmp_path)
    found = judge.converse({name: plan_then_check(name) for name in 'abcdefg'})
    assert found == dict.fromkeys('abcdefg', (7.0, 7.0))
    assert judge.calls == server.stats()['requests'] == 14 - len(first)
    assert len({row['key'] for row in kept(tmp_path)}) == len(kept(tmp_path)) == 14


# Who the judge is

BASE = {'type': ToolEvalOpenAI, 'path': 'judge-7b', 'temperature': 0, 'extra_body': {'seed': 1, 'top_k': 2}}


ADDRESS = 'http://127.0.0.1:1/v1'


@pytest.mark.parametrize(
    ('changes', 'is_same'),
    [
        ({'key': 'secret', 'api_key': 'secret', 'openai_api_base': ADDRESS, 'url': ADDRESS, 'abbr': 'my judge'}, True),
        ({'openai_api_base': [ADDRESS, 'http://127.0.0.1:2/v1'], 'run_cfg': {'num_gpus': 1}}, True),
        ({'batch_size': 3, 'max_workers': 3, 'query_per_second': 3, 'retry': 3, 'timeout': 3}, True),
        ({'temperature': 0.0, 'extra_body': {'top_k': 2, 'seed': 1}, 'type': 'ToolEvalOpenAI'}, True),
        ({'type': 'opencompass_tooleval.models.openai_model.ToolEvalOpenAI'}, True),
        ({'path': 'judge-72b'}, False),
        ({'temperature': 0.5}, False),
        ({'temperature': None}, False),
        ({'max_out_len': 512}, False),
        ({'max_seq_len': 512}, False),
        ({'extra_body': {'seed': 2, 'top_k': 2}}, False),
        ({'meta_template': {'round': [{'role': 'HUMAN', 'begin': 'Q: '}]}}, False),
        ({'type': 'OpenAISDK'}, False),
    ],
)
def test_whether_settings_are_of_the_same_judge(changes: dict[str, Any], is_same: bool) -> None:
    assert (settings_hash({**BASE, **changes}) == settings_hash(BASE)) == is_same


def test_settings_are_json_without_secrets() -> None:
    settings = judge_settings({**BASE, 'key': 'secret', 'openai_api_base': 'http://secret', 'reader': read})
    body = {'seed': 1.0, 'top_k': 2.0}
    shown = {'type': 'ToolEvalOpenAI', 'path': 'judge-7b', 'temperature': 0.0, 'extra_body': body, 'reader': 'read'}
    assert settings == shown and json.dumps(settings)


def test_what_is_kept_needs_no_server_whatever_speed_name_or_key(server: ModelServer, tmp_path: Path) -> None:
    judged(Judge(server_cfg(server), tmp_path), items(6))
    with socket.socket() as closed:
        closed.bind(('127.0.0.1', 0))
        address = f'http://127.0.0.1:{closed.getsockname()[1]}/v1'
    other = {'openai_api_base': address, 'key': 'another', 'batch_size': 2, 'abbr': 'named'}
    judge = Judge(server_cfg(server, **other), tmp_path)
    assert (len(judged(judge, items(6))), judge.calls, judge.name) == (6, 0, 'named')
    warmer = Judge(server_cfg(server, temperature=0.7), tmp_path)
    assert (len(judged(warmer, items(6))), warmer.calls) == (6, 6)


@pytest.mark.parametrize('path', ['../../up', '/abs/' + 'long' * 200, '判官', '.', ''])
def test_odd_names_stay_inside_the_folder(scripted: Script, tmp_path: Path, path: str) -> None:
    assert len(judged(Judge(scripted(lambda *_: SEVEN, path=path), tmp_path), items(2))) == len(kept(tmp_path)) == 2
    assert [file.name for file in tmp_path.iterdir()] == ['judgements']


# The evaluator


def plans(count: int) -> Dataset:
    raws = [{'input': f'request {i}.', 'reference': f'1. gold {i}'} for i in range(count)]
    records = [make_record('planning', raw, f'r{i}') for i, raw in enumerate(raws)]
    return Dataset.from_list([{'record_id': record.id, 'record': record.to_payload()} for record in records])


def plan_answers(count: int) -> list[str]:
    return [f'1. do {i}.' for i in range(count)]


def test_an_evaluation_and_a_second_one_that_costs_no_call(server: ModelServer) -> None:
    cfg = server_cfg(server, abbr='seven', extra_body={'seed': 3})
    result = evaluate(ToolEvalUltraToolEvaluator('planning', 'zh', judge_cfg=cfg), plans(6), plan_answers(6))
    assert {name: result[name] for name in LABELS['planning']} == pytest.approx(dict.fromkeys(LABELS['planning'], 70.0))
    provenance = result['provenance']
    assert provenance['judge'] == 'seven'
    assert settings_hash(cfg) in json.dumps(provenance)
    assert prompt_hash('planning', 'zh') in json.dumps(provenance)
    assert provenance['judge_calls'] == server.stats()['requests'] == 6
    assert KEY not in json.dumps(provenance) and server.url not in json.dumps(provenance)
    assert result['breakdown']['unjudged'] == 0
    assert [detail['id'] for detail in result['details']] == [f'r{i}' for i in range(6)]

    (row,), received = result['usage']['auxiliary_models'], server.stats()['tokens']
    assert (row['role'], row['model'], row['requests'], 'from_cache' in row) == ('judge', 'seven', 6, False)
    assert [row[name]['total'] for name in ('prompt', 'completion')] == [received['prompt'], received['completion']]
    assert list(result)[-1] == 'details'

    server.reset()
    again = evaluate(ToolEvalUltraToolEvaluator('planning', 'zh', judge_cfg=cfg), plans(6), plan_answers(6))
    assert server.stats()['requests'] == again['provenance']['judge_calls'] == 0
    assert (
        again['usage']['auxiliary_models'][0]['from_cache']['prompt'] == row['prompt']
        and 'prompt' not in again['usage']['auxiliary_models'][0]
    )
    assert {name: again[name] for name in LABELS['planning']} == pytest.approx(dict.fromkeys(LABELS['planning'], 70.0))


def test_several_runs_of_the_same_answers_ask_once(server: ModelServer) -> None:
    evaluator = ToolEvalUltraToolEvaluator('planning', 'zh', judge_cfg=server_cfg(server))
    result = evaluate(evaluator, plans(4), plan_answers(4) * 3)
    assert result['overall'] == pytest.approx(70.0)
    assert server.stats()['requests'] == 4
    (row,) = result['usage']['auxiliary_models']
    assert row['requests'] == 4 and 'from_cache' not in row  # later trials use what the first has paid for


def test_the_environment_names_the_judge(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge_cfg_from_env() is None
    monkeypatch.setenv('OC_JUDGE_API_KEY', '')
    monkeypatch.setenv('OC_JUDGE_MODEL', '')
    assert judge_cfg_from_env() is None
    monkeypatch.setenv('OC_JUDGE_MODEL', 'tiny')
    cfg = judge_cfg_from_env()
    assert cfg and (cfg['key'], cfg['openai_api_base']) == ('none', 'https://api.openai.com/v1/')
    monkeypatch.setenv('OC_JUDGE_API_KEY', KEY)
    monkeypatch.setenv('OC_JUDGE_API_BASE', server.url)
    result = evaluate(ToolEvalUltraToolEvaluator('planning', 'zh'), plans(2), plan_answers(2))
    assert (result['overall'], result['provenance']['judge']) == (pytest.approx(70.0), 'tiny')


def test_without_a_judge_it_says_what_to_set() -> None:
    for task in ('planning', 'tool_creation'):
        with pytest.raises(ValueError, match=f'UltraTool {task} needs a judge: .*OC_JUDGE_MODEL'):
            ToolEvalUltraToolEvaluator(task, 'zh')
    ToolEvalUltraToolEvaluator('tool_usage', 'zh')


@pytest.mark.parametrize('failing', [2, 3])
def test_one_percent_unjudged_may_be(scripted: Script, failing: int) -> None:
    lost = {f'r{i}' for i in range(failing)}
    cfg = scripted(lambda item, _: 'No idea.' if item in lost else SEVEN if item == 'r9' else reply('planning', 8))
    evaluator = ToolEvalUltraToolEvaluator('planning', 'zh', judge_cfg=cfg)
    if failing == 3:
        with pytest.raises(UnjudgedError, match='3 of 200 could not be judged, for example record r0') as caught:
            evaluate(evaluator, plans(200), plan_answers(200))
        message = str(caught.value)
        assert '(unreadable reply): 3 unreadable reply. At most 1% may be.' in message
        assert 'opencompass CONFIG -m eval -r' in message  # what to do
        assert unread(Path(message.rpartition(' are in ')[2]).parents[1])  # and where to look
        return
    result = evaluate(evaluator, plans(200), plan_answers(200))
    assert result['overall'] == pytest.approx(80 - 10 / (200 - failing))  # over the judged: no zero among them
    assert result['breakdown']['unjudged'] == failing
    assert result['provenance']['judge_calls'] == len(Scripted.asked) == 200 + 3 * failing
    unjudged = [detail for detail in result['details'] if detail['reason'] != 'ok'][:failing]
    assert {detail['id'] for detail in unjudged} == lost
    assert {detail['reason'] for detail in unjudged} == {'judge:unjudged'}


def test_an_answer_that_never_came_is_not_judged(scripted: Script) -> None:
    cfg = scripted(lambda *_: SEVEN)
    answers, infra = ['', *plan_answers(3)[1:]], ['infra:timeout', None, None]
    result = evaluate(ToolEvalUltraToolEvaluator('planning', 'zh', judge_cfg=cfg), plans(3), answers, infra)
    assert Scripted.asked == ['r1', 'r2']
    assert result['overall'] == pytest.approx(140 / 3)
    assert result['samples'] == {'all': 3, 'infra': 1}
    assert result['breakdown']['unjudged'] == 0


def test_the_judge_is_sent_the_published_system_prompt(scripted: Script) -> None:
    sent: list[list[tuple[str, str]]] = []

    class Watched(Scripted):
        def reply(self, prompt: Any) -> Answer:
            sent.append([(message['role'], message['prompt']) for message in prompt])
            return super().reply(prompt)

    evaluator = ToolEvalUltraToolEvaluator('planning', 'zh', judge_cfg={**scripted(lambda *_: SEVEN), 'type': Watched})
    evaluate(evaluator, plans(1), plan_answers(1))
    ((system, user),) = sent
    assert system == ('SYSTEM', '你是一个有帮助的AI助手。')
    assert user[0] == 'HUMAN' and user[1].startswith('\n作为一名专业评估专家')


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        (' \n', 'answer:empty'),
        ('<think>1. plan the', 'answer:truncated_reasoning'),
        ('1. x' * 60_000, 'answer:too_long'),
    ],
)
def test_a_plan_that_is_not_there_is_0_and_nobody_is_asked(
    scripted: Script, answer: str, reason: str, tmp_path: Path
) -> None:
    """A kind judge gave empty plans 8 of 10."""
    evaluator = ToolEvalUltraToolEvaluator('planning', 'zh', judge_cfg=scripted(lambda *_: reply('planning', 8)))
    evaluator._out_dir = str(tmp_path / 'results' / 'model' / 'plans')
    result = evaluate(evaluator, plans(4), [answer] * 3 + ['1. go'])
    assert Scripted.asked == ['r3']
    assert result['overall'] == pytest.approx(20.0)
    assert result['reasons'] == {reason: 3, 'judge:below_full': 1}
    assert result['breakdown']['unjudged'] == 0
    rows = [json.loads(line) for line in Path(f'{evaluator._out_dir}_judgements.jsonl').read_text().splitlines()]
    assert [row['status'] for row in rows] == ['missing'] * 3 + ['judged']
    stored = ToolEvalUltraToolEvaluator('planning', 'zh', judgements=f'{evaluator._out_dir}_judgements.jsonl')
    assert evaluate(stored, plans(4), [answer] * 3 + ['1. go'])['overall'] == pytest.approx(20.0)
