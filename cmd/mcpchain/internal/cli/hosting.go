package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/internal/reach"
)

// Hosting are the settings of commands that serve several people.
type Hosting struct {
	Listen     string            // address of the page or the service
	Users      string            // file with users and their tokens; "": users of the demo
	Proxies    bounded.Addresses // whose headers are trusted; nil: no proxy
	Processes  int               // for each stdio server; 0: one for all users
	UserHeader string            // that names the user to servers over HTTP; "": none
	Log        slog.Level        // the lowest that is logged
	LogJSON    bool              // the log has an object on each line
}

// HostingFlags declares the flags for h.
func (c *Command) HostingFlags(h *Hosting) {
	c.Group(GroupUsers, func(set *flag.FlagSet) {
		set.StringVar(&h.Listen, "listen", "127.0.0.1:8080", "`address` to listen on; port 0 selects a free one")
		set.StringVar(&h.Users, "users", "", "`file` with a user and a token on each line, "+
			"the token of at least 16 bytes, read again at SIGHUP; default: demo users")
		set.Func("trusted-proxy", "`addresses` of proxies, or ranges such as 10.0.0.0/8, separated by commas: "+
			"their headers are trusted, and they may use all connections", func(text string) (err error) {
			h.Proxies, err = bounded.Parse(text)
			return err
		})
	})
	c.Group(GroupServers, func(set *flag.FlagSet) {
		set.IntVar(&h.Processes, "processes", 10, "maximum `number` of processes of each server over standard "+
			"input and output, each for one user at a time; 0: one process for all users")
		set.StringVar(&h.UserHeader, "user-header", "",
			"`header`, such as X-User, in which servers over HTTP get the name of the user; default: none")
	})
	c.Group(GroupLog, func(set *flag.FlagSet) {
		set.Func("log", "minimum `level` of log messages on standard error: debug, info, warn or error; default info",
			func(text string) error {
				if h.Log.UnmarshalText([]byte(text)) != nil {
					return errors.New("want debug, info, warn or error")
				}
				return nil
			})
		set.BoolVar(&h.LogJSON, "log-json", false, "write the log as JSON, one object per line")
	})
}

// Check returns an error if the address, the number of processes or the header makes no sense. The
// parser of flags checks the rest.
func (h *Hosting) Check() error {
	if h.Processes < 0 {
		return errors.New("-processes is below 0")
	}
	if _, _, err := net.SplitHostPort(h.Listen); err != nil {
		return fmt.Errorf("-listen %q: want an address such as 127.0.0.1:8080", h.Listen)
	}
	return CheckHeader("user-header", h.UserHeader)
}

// headerName matches the names of headers that HTTP allows.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// CheckHeader returns an error if the value of a flag cannot be the name of a header. An empty value means no header.
func CheckHeader(flag, value string) error {
	if value != "" && !headerName.MatchString(value) {
		return fmt.Errorf("-%s: %q is not the name of a header", flag, value)
	}
	return nil
}

// IsLocal reports whether the address to listen on is on the loopback interface, as far as its text says so.
func (h *Hosting) IsLocal() bool {
	host, _, err := net.SplitHostPort(h.Listen)
	return err == nil && reach.ThisMachine(host)
}

// Logger returns a logger that writes to standard error.
func (h *Hosting) Logger() *slog.Logger { return h.logger(os.Stderr) }

// logger returns a logger that writes to out.
func (h *Hosting) logger(out io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: h.Log}
	if h.LogJSON {
		return slog.New(slog.NewJSONHandler(out, o))
	}
	return slog.New(slog.NewTextHandler(out, o))
}
