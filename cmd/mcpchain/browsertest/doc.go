// Package browsertest has the page of "mcpchain serve" used in a headless Chromium, by several people at once. It is a
// module of its own, so that the driver of the browser is no dependency of who imports mcpchain.
package browsertest
