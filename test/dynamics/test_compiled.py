"""Machine code and virtual machine agree; the cache is used and survives damage to its folder."""

import casadi as ca
from contact_samples import parameters_of, random_state, system_of
import numpy as np
import pytest
from rolling_dynamics import compiled as module
from rolling_dynamics.compiled import cache_folder, compiled, compiler, FastFunction
from rolling_dynamics.simulation import simulate, Stepper

needs_compiler = pytest.mark.skipif(compiler() is None, reason='no C compiler')


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv('ROLLING_CACHE_DIR', str(tmp_path / 'cache'))
    return tmp_path / 'cache'


def function(k=1.0):
    x, y = ca.SX.sym('x', 2), ca.SX.sym('y')
    return ca.Function('trial', [x, y], [ca.vertcat(ca.sin(k * x), x[0] * y)])


@needs_compiler
def test_same_values(cache):
    f = function()
    (g,) = compiled(f)
    assert g.is_a('ExternalFunction') or 'External' in g.class_name()
    for x, y in np.random.default_rng(0).normal(size=(5, 2)):
        assert np.all(np.array(f([x, y], y)) == np.array(g([x, y], y)))
    assert len(list(cache.glob('*.so'))) == 1


@needs_compiler
def test_the_cache_goes_by_content(cache, monkeypatch):
    compiled(function(1.0))
    compiled(function(2.0))
    assert len(list(cache.glob('*.so'))) == 2
    monkeypatch.setattr(module, '_build', lambda *_: pytest.fail('compiled again'))
    compiled(function(1.0))


def test_without_a_compiler(cache, monkeypatch):
    monkeypatch.setenv('ROLLING_NO_COMPILER', '1')
    f = function()
    assert compiled(f) == (f,)
    assert not cache.exists()


@needs_compiler
def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / 'file'
    blocked.write_text('')
    monkeypatch.setenv('ROLLING_CACHE_DIR', str(blocked))
    f = function()
    assert compiled(f) == (f,)
    assert cache_folder() == blocked


def test_fast_function():
    fast = FastFunction(function())
    out = fast([0.1, 0.2], 3.0)
    assert out == pytest.approx([np.sin(0.1), np.sin(0.2), 0.3])
    fast.inputs[0][:], fast.inputs[1][0] = [0.3, 0.4], 1.0
    assert fast.evaluate() == pytest.approx([np.sin(0.3), np.sin(0.4), 0.3])
    assert out[2] == pytest.approx(0.3)
    x = ca.SX.sym('x', 2)
    with pytest.raises(ValueError, match='dense output'):
        FastFunction(ca.Function('sparse', [x], [ca.diag(x)]))


@needs_compiler
def test_simulation_and_stepper_with_and_without_a_compiler(monkeypatch):
    ends = []
    for without in (False, True):
        if without:
            monkeypatch.setenv('ROLLING_NO_COMPILER', '1')
        system = system_of('sphere on plane')  # anew: its functions are kept with it
        p = parameters_of(system)
        x, u = random_state(system, p, np.random.default_rng(0)), np.full(6, 0.4)
        ends.append(
            (
                simulate(system, p, x, u, 0.3, events=()).states[-1],
                Stepper(system, p).step(x, u, 0.05),
                np.array(system.mode.dynamics(x, u, 0, p)).ravel(),
            )
        )
    for a, b in zip(*ends, strict=True):
        assert np.abs(a - b).max() < 1e-12
