"""Colours that colour-blind readers tell apart (Okabe and Ito, 2008), and what tells more than eight series apart."""

COLOURS = ('#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#B8A900', '#7F7F7F')
PUBLISHED = '#888888'
RIGHT = '#BDBDBD'
"""Of right answers among the reasons: what is lost stands out."""
DASHES = ('solid', 'dash', 'dashdot')
MARKERS = ('circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'pentagon', 'star', 'hexagon')
HATCHES = ('', '\\', '.')
