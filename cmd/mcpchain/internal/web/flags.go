package web

import (
	"cmp"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/internal/models"
)

const about = `
Serves a web page for several people at once: they talk to a model, allow its calls, and fill in the
forms of its servers. Without flags it uses a demo model and demo servers, on the loopback
interface. "mcpchain serve -api" is an HTTP service for many users instead.

The demo's sign-in requires no proof. With -users, users sign in with tokens; with -user-from, a
proxy signs them in.`

const files = `
web/web.db
    conversations and sessions, unless -store names another file
web/tokens, web/tools
    beside that file: tokens of sign-ins to servers, and lists of their tools
models.json
    names for -model`

const examples = `
mcpchain serve
    try it at http://127.0.0.1:8080
mcpchain serve -base-url http://localhost:11434/v1 -model qwen3 -config mcp.json
    your own model and servers
mcpchain serve -origin https://agent.example.com -users users.txt
    behind a proxy with HTTPS, for people with tokens`

// options are the settings from the command line.
type options struct {
	cli.Hosting
	model    *models.Flags
	config   string // mcp.json; "": the demo servers
	timeouts cli.Timeouts

	origin        *url.URL // at which browsers reach the page through a proxy; nil: the address
	addressHeader string   // header in which the proxies name the browser's address; "": none
	userFrom      string   // header in which the proxies name the user; "": none
	demo          string   // names of demoUsers
	demoUsers     []string
	demoSignIn    bool // allow the demo's sign-in even where others can reach the page

	views      string // address of the sandbox of views; "": next to Listen; "none"
	viewsFrom  string // its origin for browsers; "": by its address
	viewsLocal bool   // views may access this machine

	store  string        // SQLite file
	stored int           // maximum number of a user's conversations
	bytes  int64         // maximum of a user's conversations
	kept   time.Duration // how long a conversation is kept after its last turn; 0: until it is deleted
	rate   int           // maximum number of changing requests of a user per minute
	tokens int           // maximum for the answer to a question

	logger *slog.Logger
}

// Command returns the command line of the program.
func Command() *cli.Command {
	c, _ := declare(os.Getenv)
	c.Main = Main
	return c
}

// declare returns the flags, and the variables that they set.
func declare(getenv func(string) string) (*cli.Command, *options) {
	o := &options{}
	c := cli.New("serve", "serve a web page for several people, or with -api an HTTP service")
	c.Synopsis, c.About = []string{"serve [flags]", "serve -api [flags]"}, about
	c.Bool("api", false, "") // selects the command
	o.model = c.ModelFlags(getenv)
	c.ConfigFlag(&o.config, "demo servers")
	c.TimeoutFlags(&o.timeouts)
	c.HostingFlags(&o.Hosting)
	c.Group(cli.GroupUsers, func(flags *flag.FlagSet) {
		flags.Func("origin", "public `URL` of the page behind a proxy, such as https://agent.example.com", func(text string) (err error) {
			o.origin, err = parseOrigin(text)
			return err
		})
		flags.StringVar(&o.addressHeader, "address-header", "",
			"`header` whose last element is the browser's address, set by a proxy of -trusted-proxy; default: none")
		flags.StringVar(&o.userFrom, "user-from", "", "`header` with the user that a proxy of -trusted-proxy has signed in")
		flags.StringVar(&o.demo, "demo-users", "Ada,Grace,Linus", "`names` of the demo's users, separated by commas")
		flags.BoolVar(&o.demoSignIn, "demo-sign-in", false,
			"let everybody take any name of -demo-users, even with -origin and on addresses other than the loopback interface")
	})
	c.Group("Views of tools", func(flags *flag.FlagSet) {
		flags.StringVar(&o.views, "views", "", "`address` of the sandbox in which tools' views run, or none; default: the next port of -listen")
		flags.Func("views-origin", "public `origin` of the sandbox; default: its address, or with -origin no views", func(text string) error {
			origin, err := parseOrigin(text)
			if err == nil {
				o.viewsFrom = origin.String()
			}
			return err
		})
		flags.BoolVar(&o.viewsLocal, "views-local", false,
			"let views use addresses of this machine and of private networks that their servers declare")
	})
	c.StoreFlag(&o.store, "conversations and sessions", cli.StoreFile, "web/web.db")
	c.Group(cli.GroupStore, func(flags *flag.FlagSet) {
		flags.IntVar(&o.stored, "stored", 1000, "maximum number of `conversations` of a user")
		flags.Int64Var(&o.bytes, "bytes", 256<<20, "maximum number of `bytes` of a user's conversations; default 256 MiB")
		flags.DurationVar(&o.kept, "keep", 0,
			"delete a conversation this `time` after its last turn, such as 2160h; default: its user deletes it")
	})
	c.Group(cli.GroupBounds, func(flags *flag.FlagSet) {
		flags.IntVar(&o.rate, "rate", 120, "maximum number of `requests` of a user that change something, per minute, 30 at once")
		flags.IntVar(&o.tokens, "turn-tokens", 500_000,
			"maximum number of `tokens` for the answer to a question, including tools and sub-agents; default 500,000")
	})
	c.Sections = []cli.Section{cli.Files(files), cli.Environment(""), cli.Statuses(nil), {Title: "Examples", Text: examples}}
	return c, o
}

// parseFlags parses the command line. The error is [flag.ErrHelp] after the help was written to out, or a [*cli.Error].
func parseFlags(args []string, getenv func(string) string, out io.Writer) (*options, error) {
	c, o := declare(getenv)
	if err := c.NoWords(args, out); err != nil {
		return nil, err
	}
	if err := cmp.Or(o.Check(), o.complete()); err != nil {
		return nil, c.Refuse(err)
	}
	return o, c.Positive("connect-timeout", "idle-timeout", "call-timeout", "stored", "bytes", "rate", "turn-tokens")
}

// parseOrigin returns the origin of a URL, without a port that browsers omit.
func parseOrigin(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "https" && u.Scheme != "http", strings.Trim(u.Path, "/") != "", u.RawQuery != "":
		return nil, errors.New("want a URL such as https://agent.example.com")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return &url.URL{Scheme: u.Scheme, Host: host}, nil
}

// complete refuses flags that contradict each other, and sets defaults.
func (o *options) complete() error {
	o.demoUsers = splitList(o.demo)
	switch {
	case o.userFrom != "" && o.Proxies == nil:
		return errors.New("-user-from needs -trusted-proxy: a header of anybody is no sign-in")
	case o.addressHeader != "" && o.Proxies == nil:
		return errors.New("-address-header needs -trusted-proxy: anybody can send the header")
	case o.userFrom != "" && o.Users != "":
		return errors.New("-user-from and -users are two sign-ins: give one")
	case o.isDemo() && !o.demoSignIn && (o.origin != nil || !o.IsLocal()):
		return errors.New("others can reach this page, and the demo's sign-in asks for no proof: " +
			"give -users, -user-from with -trusted-proxy, or -demo-sign-in to let everybody be anyone")
	case o.kept < 0:
		return errors.New("-keep is below 0")
	case len(o.demoUsers) == 0:
		return errors.New("-demo-users names no user")
	case len(slices.Compact(slices.Sorted(slices.Values(o.demoUsers)))) < len(o.demoUsers):
		return errors.New("-demo-users names a user twice")
	case database.IsPostgres(o.store):
		return errors.New("-store: the page keeps conversations in a SQLite file; serve -api takes Postgres")
	}
	if o.store == "" {
		o.store = cli.Place("web", "web.db")
	}
	return cmp.Or(cli.CheckHeader("user-from", o.userFrom), cli.CheckHeader("address-header", o.addressHeader), o.model.Complete())
}

// isDemo reports whether the sign-in requires no proof.
func (o *options) isDemo() bool { return o.Users == "" && o.userFrom == "" }

// splitList returns the items of a list that commas separate, without empty ones.
func splitList(text string) (out []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// allowedHosts returns the host names by which browsers may reach the page: the address itself,
// this machine's names for itself, and the name at the proxy.
func (o *options) allowedHosts(a net.Addr) (hosts []string) {
	host, port, err := net.SplitHostPort(a.String())
	if err == nil {
		for _, name := range []string{host, "localhost", "127.0.0.1", "::1"} {
			hosts = append(hosts, net.JoinHostPort(name, port))
			if port == "80" { // browsers omit it
				hosts = append(hosts, strings.TrimSuffix(net.JoinHostPort(name, port), ":80"))
			}
		}
	}
	if o.origin != nil {
		hosts = append(hosts, o.origin.Host)
	}
	return hosts
}

// canonical returns the host name of the page for browsers on this machine, which know it by several
// names and omit the port 80; "" if others can reach the page.
func (o *options) canonical(a net.Addr) string {
	if o.origin != nil || !isLoopback(a) {
		return ""
	}
	return strings.TrimSuffix(a.String(), ":80")
}

// isSecure reports whether browsers reach the page over HTTPS.
func (o *options) isSecure() bool { return o.origin != nil && o.origin.Scheme == "https" }

// base returns the URL at which browsers reach the page.
func (o *options) base(a net.Addr) string {
	if o.origin != nil {
		return o.origin.String()
	}
	return "http://" + a.String()
}
