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
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/reach"
)

// The titles of groups that several commands share.
const (
	GroupModel   = "Model"
	GroupServers = "Servers"
	GroupUsers   = "Users and addresses"
	GroupStore   = "Storage"
	GroupBounds  = "Limits"
	GroupLog     = "Log"
)

// ModelFlags declares the flags of a model. Their defaults may come from the environment.
func (c *Command) ModelFlags(getenv func(string) string) (f *models.Flags) {
	c.Group(GroupModel, func(set *flag.FlagSet) { f = models.Declare(set, getenv) })
	// The help must not show these values of the environment: a URL may have a password.
	for _, name := range []string{"base-url", "model"} {
		c.Lookup(name).DefValue = ""
	}
	return f
}

// NoServers is the value of -config for no servers.
const NoServers = "none"

// ConfigFlag declares -config. otherwise says what is used without it.
func (c *Command) ConfigFlag(file *string, otherwise string) {
	c.Group(GroupServers, func(set *flag.FlagSet) {
		set.StringVar(file, "config", "",
			"`file` with the servers, an mcp.json of any program, or the word none; default: "+otherwise)
	})
}

// Timeouts are the timeouts of servers.
type Timeouts struct {
	Connect time.Duration // for connecting, and for listing what the server offers
	Idle    time.Duration // for a call without an answer or progress
	Call    time.Duration // for a whole call
}

// TimeoutFlags declares -connect-timeout, -idle-timeout and -call-timeout.
func (c *Command) TimeoutFlags(t *Timeouts) {
	c.Group(GroupServers, func(set *flag.FlagSet) {
		set.DurationVar(&t.Connect, "connect-timeout", 30*time.Second,
			"`time` limit for connecting to a server and listing what it offers")
		set.DurationVar(&t.Idle, "idle-timeout", 5*time.Minute,
			"`time` without an answer or progress after which a call to a server ends")
		set.DurationVar(&t.Call, "call-timeout", time.Hour, "`time` limit for a call to a server")
	})
}

// Positive returns an error for the first of these flags that is not above 0. It panics if one of
// them is neither a time nor a number.
func (c *Command) Positive(names ...string) error {
	for _, name := range names {
		var isPositive bool
		switch v := c.Lookup(name).Value.(flag.Getter).Get().(type) {
		case time.Duration:
			isPositive = v > 0
		case int:
			isPositive = v > 0
		case int64:
			isPositive = v > 0
		case float64:
			isPositive = v > 0
		default:
			panic(fmt.Sprintf("cli: -%s is neither a time nor a number", name))
		}
		if !isPositive {
			return c.Wrong("-%s has to be above 0", name)
		}
	}
	return nil
}

// The kinds of places where runs can be kept, for [Command.StoreFlag]. They are texts of the help,
// which takes the word in backquotes as the name of the value.
const (
	StoreFile     = "a SQLite `file`"
	StoreDatabase = "a SQLite `file`, or the URL of a Postgres database"
	StoreAny      = "a SQLite `file`, a folder/ of files, or the URL of a Postgres database"
)

// StoreFlag declares -store, which says where something, such as "runs", is kept. kinds are the kinds of
// places, and file is the default, in the configuration folder. An empty place means that default.
func (c *Command) StoreFlag(place *string, what, kinds, file string) {
	c.Group(GroupStore, func(set *flag.FlagSet) {
		set.StringVar(place, "store", "",
			fmt.Sprintf("where %s are stored: %s; default %s in your configuration folder", what, kinds, file))
	})
}

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

// CheckHeader returns an error if the value of a flag cannot be the name of a header. An empty
// value means no header.
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

// Environment returns the section on environment variables: the variables for models, and the command's own.
func Environment(own string) Section {
	return Section{"Environment", `OPENAI_MODEL, OPENAI_BASE_URL
    used if -model and -base-url are not given
ANTHROPIC_MODEL
    model of Claude's API, used if neither -model nor OPENAI_MODEL is given
OPENAI_API_KEY, ANTHROPIC_API_KEY
    API key of the model's host; the latter for Claude's API (-model-api messages)
ANTHROPIC_BASE_URL
    URL of an endpoint for Claude's API
` + own}
}

// Files returns the section on files in the configuration folder.
func Files(text string) Section {
	return Section{"Files, in mcpchain of your configuration folder (by default ~/.config on Linux)", text}
}
