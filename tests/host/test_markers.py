"""Every way in which pluggy would silently ignore or misorder an implementation is refused, by name."""

import pluggy
import pytest

from harness import PluginError, hookimpl, method
from harness.host import Catalogue
from tests.batches import make_batch
from tests.host.plugins import caller


def refused(match):
    return pytest.raises(PluginError, match=match)


@pytest.mark.parametrize("option", ["tryfirst", "trylast", "hookwrapper", "specname"])
def test_pluggys_other_options_are_refused(option):
    with refused(rf"Bad\.keep.*not {option}"):

        class Bad:
            @hookimpl(**{option: True})
            def keep(self, batch):
                return batch.kept


@pytest.mark.parametrize("option", ["tryfirst", "trylast", "hookwrapper"])
def test_they_are_refused_from_pluggys_own_marker_too(option):
    def keep(self, batch):
        yield

    with refused(rf"Bad\.keep: hookimpl\({option}"):
        method(type("Bad", (), {"keep": pluggy.HookimplMarker("harness")(keep, **{option: True})}))


def test_a_specname_from_pluggys_own_marker_is_refused():
    def keep(self, batch):
        return batch.kept

    with refused("specname"):
        method(type("Bad", (), {"keep": pluggy.HookimplMarker("harness")(keep, specname="keep")}))


def test_keyword_only_arguments_are_refused():
    with refused(r"Bad\.keep: argument 'state' must be positional"):

        @method
        class Bad:
            @hookimpl
            def keep(self, batch, *, state):
                return batch.kept


def test_variadic_arguments_are_refused():
    with refused(r"Bad\.keep: argument 'rest' must be positional"):

        @method
        class Bad:
            @hookimpl
            def keep(self, *rest):
                return rest


def test_defaulted_arguments_are_refused():
    with refused(r"Bad\.keep: argument 'state' must not have a default"):

        @method
        class Bad:
            @hookimpl
            def keep(self, batch, state=None):
                return batch.kept


def test_an_argument_that_the_hook_lacks_is_refused_with_the_nearest():
    with refused(r"Bad\.keep: the hook has no argument 'bacth'\. Did you mean 'batch'\?"):

        @method
        class Bad:
            @hookimpl
            def keep(self, bacth):
                return bacth.kept


def test_an_undecorated_method_named_like_a_hook_is_refused():
    with refused(r"Bad\.keep is named like a hook but not decorated"):

        @method
        class Bad:
            def keep(self, batch):
                return batch.kept


def test_an_undecorated_override_of_an_inherited_implementation_is_refused():
    @method
    class Parent:
        @hookimpl
        def keep(self, batch):
            return batch.kept

    with refused(r"Child\.keep is named like a hook but not decorated"):

        @method
        class Child(Parent):
            def keep(self, batch):
                return batch.kept


def test_a_field_named_like_a_hook_is_refused():
    with refused(r"Bad\.keep is named like a hook"):

        @method
        class Bad:
            keep: float = 0.5


def test_a_misspelt_hook_is_refused_with_the_nearest():
    with refused(r"Bad\.estimate_advantage is decorated.*Did you mean 'estimate_advantages'\?"):

        @method
        class Bad:
            @hookimpl
            def estimate_advantage(self, batch):
                return batch.reward


def test_a_marker_of_another_project_is_refused():
    def keep(self, batch):
        return batch.kept

    with refused(r"Bad\.keep carries the hook marker of 'pytest'"):
        method(type("Bad", (), {"keep": pluggy.HookimplMarker("pytest")(keep)}))


def test_a_wrapper_that_does_not_yield_is_refused():
    with refused(r"Bad\.keep: a wrapper needs one `yield`"):

        @method
        class Bad:
            @hookimpl(wrapper=True)
            def keep(self, batch):
                return batch.kept


def test_a_plain_implementation_that_yields_is_refused():
    with refused(r"Bad\.keep yields, so it must be a wrapper"):

        @method
        class Bad:
            @hookimpl
            def keep(self, batch):
                return (yield)


def test_a_forgotten_self_is_refused():
    for function in (lambda batch: batch.kept, lambda: None, lambda *rest: rest):
        with refused(r"Bad\.keep: the first argument must be self, then what it needs of batch, state"):
            method(type("Bad", (), {"keep": hookimpl(function)}))


def test_plugins_that_compare_by_value_are_refused():
    import dataclasses

    def keep(self, batch):
        return batch.kept

    with refused(r"Bad: Bad defines __eq__, as @dataclass does, but plugins are compared by identity"):
        method(dataclasses.dataclass(type("Bad", (), {"keep": hookimpl(keep), "__annotations__": {}})))

    @dataclasses.dataclass
    class Common:
        beta: float = 0.5

    with refused(r"Child: Common defines __eq__.*write @dataclass\(eq=False\)"):
        method(type("Child", (Common,), {"keep": hookimpl(keep)}))
    fine = method(type("Fine", (dataclasses.dataclass(eq=False)(type("Plain", (), {})),), {"keep": hookimpl(keep)}))
    assert fine() != fine()


def test_a_class_that_is_refused_is_no_method():
    cls = type("Bad", (), {"keep": lambda self, batch: batch.kept})
    with refused("not decorated"):
        method(cls)
    assert not hasattr(cls, "info")


def test_only_a_decorated_class_goes_into_a_catalogue():
    for thing in (type("Bare", (), {}), 3):
        with refused(r"is no class decorated with @method"):
            Catalogue([]).with_class(thing)


def test_properties_of_a_plugin_are_never_looked_at():
    """pluggy evaluates every attribute of what it registers; a plugin's own are none of its business."""

    def lost(self):
        raise RuntimeError("looked at")

    cls = method(type("Shy", (), {"secret": property(lost), "keep": hookimpl(lambda self, batch: batch.correct)}))
    assert caller(cls).keep(batch=make_batch()).any()


def test_async_and_static_implementations_are_refused():
    async def later(self, batch):
        return batch.kept

    with refused("not async"):
        method(type("Bad", (), {"keep": hookimpl(later)}))
    with refused(r"Bad\.keep must be an ordinary method"):
        method(type("Bad", (), {"keep": staticmethod(hookimpl(lambda batch: batch.kept))}))


def test_an_undecorated_and_misspelt_hook_is_refused():
    with refused(r"Bad\.estimate_advantage is not decorated.*if it is the hook 'estimate_advantages'"):

        @method
        class Bad:
            def estimate_advantage(self, batch):
                return batch.reward


def test_helpers_with_names_like_hooks_are_fine():
    @method
    class Fine:
        @hookimpl
        def policy_loss(self, batch, output):
            return self.policy_losses(batch, output)

        def policy_losses(self, batch, output):
            return -output.ratio * batch.advantages

        def estimate_advantage(self, rewards, baseline):
            return rewards - baseline

        def _aggregates(self, batch):
            return batch.mask

        def kept(self, batch):
            return batch.kept

    assert Fine.info.hooks == {"policy_loss": "plain"}


@pytest.mark.parametrize("name", ["__init__", "__setattr__"])
def test_what_the_decorator_makes_is_not_defined(name):
    with refused(rf"Bad defines {name}, which @method makes; a hyper-parameter is a field"):
        method(type("Bad", (), {name: lambda *_: None, "keep": hookimpl(lambda self, batch: batch.kept)}))


def test_a_hook_that_is_set_on_the_instance_is_refused():
    def start(self):
        self.keep = lambda batch: batch.kept

    plugin = method(type("Late", (), {"start": hookimpl(start)}))()
    with pytest.raises(AttributeError, match=r"Late\.keep is set on the instance, where no hook is looked for"):
        plugin.start()
