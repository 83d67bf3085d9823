"""The parts of the HTML page: markup, charts as SVG, sections. `report/html.py` joins them."""
