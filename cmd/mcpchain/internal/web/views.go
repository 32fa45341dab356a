package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

// maxFrames bounds the connections to the sandbox.
const maxFrames = 512

// views are the sandbox of views, which listens on an origin of its own.
type views struct {
	box    *sandbox.Sandbox
	origin string // for the page's policy
}

// sandbox serves the sandbox of views; nil without views.
func (a *app) sandbox(o *options, page net.Addr) (*views, error) {
	if o.views == "none" {
		return nil, nil
	}
	if strings.Contains(o.viewsFrom, "*") {
		return nil, errors.New("-views-origin: views have one origin here, so that they keep no data")
	}
	if !isLoopback(page) && o.viewsFrom == "" {
		fmt.Fprintln(os.Stderr, "Views of tools are not shown: name their origin with -views-origin.")
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
		return nil, fmt.Errorf("the sandbox of views: %w; see the flag -views", err)
	}
	a.later(func() error { _ = listener.Close(); return nil })
	v := &views{origin: o.viewsFrom}
	if v.origin == "" {
		v.origin = "http://" + listener.Addr().String()
	}
	var hosts []string
	for _, name := range o.allowedHosts(page) {
		hosts = append(hosts, "http://"+name, "https://"+name)
	}
	if v.box, err = sandbox.New(&sandbox.Options{Origin: v.origin, HostOrigins: hosts, Local: o.viewsLocal}); err != nil {
		return nil, err
	}
	server := &http.Server{Handler: v.box, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: time.Minute, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(bounded.New(listener, maxFrames, o.Proxies.Has)) // ends with Close
	}()
	a.later(func() error {
		err := server.Close()
		<-served
		return err
	})
	return v, nil
}

// nextTo is the address with the next port, or a free one if the port is.
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

// viewOf names the view of a tool, as its server has it at present.
func viewOf(tools *adapter.Toolset) func(server, name string) string {
	return func(server, name string) string {
		for _, s := range tools.Servers() {
			if s.Name != server {
				continue
			}
			for _, tool := range s.Tools {
				if tool.Definition().Name == name {
					return tool.ViewURI()
				}
			}
		}
		return ""
	}
}

// show has a service show views, if there is a sandbox.
func (v *views) show(a *app, o *options, service *talk.Service, tools *adapter.Toolset) (*viewing.Service, string) {
	if v == nil {
		return nil, ""
	}
	shown := viewing.New(viewing.Options{Talk: service, Tools: tools, Sandbox: v.box, Logger: o.logger})
	a.later(func() error { shown.Close(); return nil })
	return shown, strings.TrimSuffix(v.origin, "/")
}
