"""How much is tried: `make check` tries a part of what the whole suite does."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# no test may fail because the machine is slow
settings.register_profile("whole", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("whole"), max_examples=6)
settings.load_profile("whole")


def tried(examples: int) -> settings:
    """So many examples; in a quick run fewer, but some."""
    profile = settings.get_current_profile_name()
    return settings(max_examples=max(3, examples // 12) if profile == "quick" else examples)
