"""Keeps the schedule's promise. Knows neither HTTP nor files: it is given send and sink."""

from loadgen.engine.ceiling import RateCeiling
from loadgen.engine.driver import Driver, Load
from loadgen.engine.pulse import Pulse
from loadgen.engine.sessions import Stage
from loadgen.engine.tally import Tally
from loadgen.engine.waiting import Alarms

__all__ = ["Alarms", "Driver", "Load", "Pulse", "RateCeiling", "Stage", "Tally"]
