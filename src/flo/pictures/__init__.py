"""Pictures: programs as SVG, state spaces as pages, and what notebooks display."""

from flo.pictures.program import draw_flow

__all__ = ["draw_flow"]
