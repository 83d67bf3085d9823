"""When to send, as values: arrivals and slots. Pure and seeded; reads no clock."""

from loadgen.schedule.arrivals import Closed, Constant, Gamma, Poisson, Shape, Trace, recorded_speed

__all__ = ["SHAPES", "Shape", "recorded_speed"]

SHAPES: dict[str, type[Shape]] = {
    "closed": Closed,
    "constant": Constant,
    "poisson": Poisson,
    "gamma": Gamma,
    "trace": Trace,
}
"""Shape names as users write them (`closed:16`); `loadgen.specs.parse_spec` reads them."""
