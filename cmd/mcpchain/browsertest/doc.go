// Package browsertest has the page of "mcpchain serve" used in a headless Chromium, by several people at once. It is a
// module of its own, so that programs that import mcpchain do not depend on the driver of the browser.
package browsertest
