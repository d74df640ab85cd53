"""Pictures: programs as SVG, state spaces as pages, and what notebooks display."""

from flo.pictures.notebook import html_of
from flo.pictures.pages import save_exploration, save_report, save_stepper
from flo.pictures.program import draw_flow

__all__ = ["draw_flow", "html_of", "save_exploration", "save_report", "save_stepper"]
