// Package apps runs views in Chromium, in the sandbox and with a session of the host: views
// that keep to the rules, and views that do not. The official host library runs beside it.
//
// It is a module of its own: it needs a library that drives the browser.
package apps
