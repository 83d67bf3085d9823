"""Keeps the schedule's promise. Knows neither HTTP nor files: it is given send and sink."""

from loadgen.engine.bodies import Source
from loadgen.engine.ceiling import RateCeiling
from loadgen.engine.driver import Driver, Load
from loadgen.engine.feed import Feed, OwnFeed
from loadgen.engine.idle import OwnPeers, Peers
from loadgen.engine.lanes import Counts, LaneLoad
from loadgen.engine.pulse import Pulse
from loadgen.engine.replay import Replay
from loadgen.engine.sessions import Stage
from loadgen.engine.tally import Tally
from loadgen.engine.waiting import Alarms

__all__ = [
    "Alarms",
    "Counts",
    "Driver",
    "Feed",
    "LaneLoad",
    "Load",
    "OwnFeed",
    "OwnPeers",
    "Peers",
    "Pulse",
    "RateCeiling",
    "Replay",
    "Source",
    "Stage",
    "Tally",
]
