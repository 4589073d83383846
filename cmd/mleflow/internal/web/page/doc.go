// Package page has the parts that every page of mleflow is made of: the frame
// of a document, the style sheet, columns of tables, formats of values, and plots. The local page
// (mleflow ui) with the report of a run and the public board use them, so that the same thing
// looks the same everywhere.
//
// A page holds no inline script and no inline style but the style sheet, whose
// hash its content security policy names. All text from outside goes through
// the templates' escaping; the direction of text is isolated and control
// characters are removed by Clean. Plots are SVG, written by this package and
// coloured by classes of the style sheet, so that they follow the reader's
// light or dark theme, print, and need no script. The same data give the same
// bytes.
package page
