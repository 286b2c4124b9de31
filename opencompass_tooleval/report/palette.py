"""Colours that colour-blind readers can distinguish (Okabe and Ito, 2008), and marks for more than eight series."""

COLOURS = ('#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#B8A900', '#7F7F7F')
PUBLISHED = '#888888'
RIGHT = '#BDBDBD'
"""Colour of correct answers among the reasons: grey, so that lost points stand out."""
DASHES = ('solid', 'dash', 'dashdot')
MARKERS = ('circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'pentagon', 'star', 'hexagon')
HATCHES = ('', '\\', '.')
