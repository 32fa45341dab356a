package web

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

// views are the sandbox of views, which has an origin of its own.
type views struct {
	sandbox  *sandbox.Sandbox
	listener net.Listener
	origin   string // for the page's policy
}

// sandbox returns the sandbox of views, and listens for it. It returns nil if views are not shown: by -views none, or
// because browsers elsewhere could not reach the sandbox, which it logs.
func (a *app) sandbox(o *options, page net.Addr) (*views, error) {
	switch {
	case o.views == "none":
		return nil, nil
	case strings.Contains(o.viewsFrom, "*"):
		return nil, errors.New("-views-origin: views have one origin here, so that they keep no data")
	case (o.origin != nil || !isLoopback(page)) && o.viewsFrom == "":
		o.logger.Warn("views of tools are not shown: name their origin with -views-origin")
		return nil, nil
	}
	address := o.views
	if address == "" {
		var err error
		if address, err = nextTo(o.Listen); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the sandbox of views: %w; -views names another address, or none", err)
	}
	a.onClose(func() error { _ = listener.Close(); return nil }) // the server may have closed it
	origin := cmp.Or(o.viewsFrom, "http://"+listener.Addr().String())
	var hosts []string
	for _, name := range o.allowedHosts(page) {
		hosts = append(hosts, "http://"+name, "https://"+name)
	}
	box, err := sandbox.New(&sandbox.Options{Origin: origin, HostOrigins: hosts, AllowPrivate: o.viewsLocal})
	if err != nil {
		return nil, err
	}
	return &views{box, listener, origin}, nil
}

// nextTo returns an address with the next port, or with port 0, which selects a free one, if the port is 0. The error
// says that there is no next port, or that it is unknown because the port has a name.
func nextTo(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(port)
	switch {
	case err != nil || n >= 65535:
		return "", errors.New("-views is needed beside this -listen")
	case n > 0:
		n++
	}
	return net.JoinHostPort(host, strconv.Itoa(n)), nil
}

// viewOf returns a function that returns the URI of a tool's view, or "".
func viewOf(tools *adapter.Toolset) func(server, name string) string {
	return func(server, name string) string {
		tool, err := tools.Catalog(profile.Plain).LookupStored(server, name, "")
		if err != nil {
			return ""
		}
		return tool.ViewURI()
	}
}
