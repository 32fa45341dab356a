// Package sandbox serves the page in which a view runs in a browser: the sandbox proxy of MCP
// Apps, with a Content Security Policy that is built from what the server declares.
//
//	box, err := sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:8081", HostOrigins: []string{"http://127.0.0.1:8080"}})
//	go http.Serve(listener, box)
//	frame, err := box.Frame(view.Meta, sandbox.FrameOptions{User: "Ada", Server: "https://weather.example"}) // for the host's page
//
// The host's page makes an iframe with the URL and the attributes of the [Frame]. When it gets
// ui/notifications/sandbox-proxy-ready from the iframe, it posts ui/notifications/sandbox-resource-ready with the
// document. All other messages pass through, in either direction. The page must take messages only from the window of
// its iframe and from [Frame.Origin], and its own policy should allow frames of the sandbox's origin alone (frame-src).
//
// The guide is docs/apps.md of the repository.
//
// # Origins
//
// The sandbox needs an origin other than the host's, which [New] refuses. If the origin has no wildcard, each view runs
// in an opaque origin: it has no storage, no cookies, and no access to other views.
//
// If the origin begins with a wildcard ("http://*.localhost:8081"), the views of each [FrameOptions], a user and a
// server, have an origin of their own, so that they can keep data. View and proxy then share it: a view can script its
// proxy, and send messages in its name. The policy of the proxy's page and the sandbox of its frame still apply. Pages
// below one domain can set cookies for each other and for the domain, so use a domain with nothing else on it,
// preferably one on the public suffix list. New refuses a domain below the host's. Names below localhost share nothing.
//
// A source that a server declares is left out if it is an origin of the host or of the sandbox, or
// if it is private (see [apps.IsPrivate]) and Options.AllowPrivate is false.
//
// # Bounds
//
//	message of a view or to it  20 × 2^20 UTF-16 units of JSON; the proxy drops larger ones
//	URL of a frame              16 KiB
package sandbox
