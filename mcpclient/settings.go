package mcpclient

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"time"
	"unique"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// settings are the [Options] of a client, checked and with their defaults. A host
// may have many clients, most of them alike: what is equal is kept once for all.
type settings struct {
	plain unique.Handle[terms]
	*installed
}

// terms are the options that are plain values.
type terms struct {
	introduction string // of this client, as JSON
	revision     string
	logLevel     LogLevel

	allowUndeclared bool
	checkOutputs    bool

	subscriptionIdle time.Duration
	elicitationWait  time.Duration
	idleTimeout      time.Duration // 0 for the default, negative for none
	callTimeout      time.Duration // likewise
	probeTimeout     time.Duration
	connectTimeout   time.Duration // 0 for the default, negative for none
	closeTimeout     time.Duration
	keepAlive        time.Duration // 0 for none

	maxRetries        int
	maxServerRequests int
	maxNotifications  int
	maxRounds         int
	maxPages          int
	maxCache          int
}

func (s *settings) terms() terms { return s.plain.Value() }

// installed is what the host has installed in a client. It does not change.
type installed struct {
	offers

	sampler  SamplingHandler
	elicitor ElicitationHandler
	byMethod map[string]Handler

	onNotification func(*Notification)
	onInvalidTool  func(*Tool, error)

	sending   Handler // Options.Middleware; nil for none
	answering Handler // Options.ServerMiddleware; nil for none

	policy    *Restart // nil for none
	verdicts  *Verdicts
	validator Validator
}

// bare is that of clients with nothing.
var bare = &installed{offers: offers{tasks: true}}

// settle checks the options and makes them those of a client.
func (o *Options) settle() (s settings, err error) {
	if o == nil {
		o = new(Options)
	}
	t := o.terms()
	var introErr error
	t.introduction, introErr = o.introduction()
	s.plain = unique.Make(t)
	s.installed, err = o.installed()
	return s, errors.Join(introErr, err)
}

// introduction is who we say we are, as JSON.
func (o *Options) introduction() (string, error) {
	i := o.Client
	if i.Name == "" {
		i = Implementation{Name: "mcpchain", Version: moduleVersion()}
	}
	var buf [256]byte
	b := appendText(append(buf[:0], '{'), "name", i.Name)
	if i.Title != "" {
		b = appendText(b, "title", i.Title)
	}
	b = appendText(b, "version", i.Version)
	if i.Description != "" {
		b = appendText(b, "description", i.Description)
	}
	if i.WebsiteURL != "" {
		b = appendText(b, "websiteUrl", i.WebsiteURL)
	}
	if len(i.Icons) > 0 {
		icons, err := jsonrpc.Marshal(i.Icons)
		if err != nil {
			return "", fmt.Errorf("Options.Client.Icons: %w", err)
		}
		b = appendMember(b, "icons", icons)
	}
	return string(closeObject(b)), nil
}

// appendText appends a member that is a string, with a comma after it.
func appendText(b []byte, key, text string) []byte {
	b = append(jsonrpc.AppendString(b, key), ':')
	return append(jsonrpc.AppendString(b, text), ',')
}

// terms are the plain values, with their defaults.
func (o *Options) terms() terms {
	keepAlive := max(o.KeepAlive, 0)
	if keepAlive > 0 {
		keepAlive = max(keepAlive, shortestKeepAlive)
	}
	return terms{
		keepAlive:         keepAlive,
		revision:          o.Revision,
		logLevel:          o.LogLevel,
		allowUndeclared:   o.AllowUndeclared,
		checkOutputs:      o.CheckOutputs,
		subscriptionIdle:  cmp.Or(o.SubscriptionIdle, 5*time.Minute),
		elicitationWait:   cmp.Or(o.ElicitationWait, defaultDoneWait),
		idleTimeout:       o.IdleTimeout,
		callTimeout:       o.CallTimeout,
		probeTimeout:      positive(o.ProbeTimeout, 5*time.Second),
		connectTimeout:    o.ConnectTimeout,
		closeTimeout:      positive(o.CloseTimeout, 5*time.Second),
		maxRetries:        cmp.Or(o.MaxRetries, 3),
		maxServerRequests: positive(o.MaxServerRequests, 16),
		maxNotifications:  positive(o.MaxNotifications, 1024),
		maxRounds:         positive(o.MaxRounds, 10),
		maxPages:          positive(o.MaxPages, 1000),
		maxCache:          cmp.Or(o.MaxCache, 4<<20),
	}
}

// positive is v, or what it is by default.
func positive[T int | time.Duration](v, byDefault T) T {
	if v <= 0 {
		return byDefault
	}
	return v
}

// installed is what the options install.
func (o *Options) installed() (*installed, error) {
	if o.installNothing() {
		return bare, o.check()
	}
	offers, err := o.offered()
	if err = errors.Join(o.check(), err); err != nil {
		return nil, err
	}
	sending, sendErr := compose("Options.Middleware", o.Middleware, innermost)
	answering, answerErr := compose("Options.ServerMiddleware", o.ServerMiddleware, innermost)
	return &installed{
		offers:         offers,
		sampler:        o.Sampling,
		elicitor:       o.Elicitation,
		byMethod:       maps.Clone(o.Handlers),
		onNotification: o.OnNotification,
		onInvalidTool:  o.OnInvalidTool,
		sending:        sending,
		answering:      answering,
		policy:         o.Restart.withDefaults(),
		verdicts:       o.Verdicts,
		validator:      o.Validator,
	}, errors.Join(sendErr, answerErr)
}

func (o *Options) installNothing() bool {
	return o.Sampling == nil && o.Elicitation == nil && o.Roots == nil && len(o.Handlers) == 0 && o.Capabilities == nil &&
		o.OnNotification == nil && o.OnInvalidTool == nil && len(o.Middleware) == 0 && len(o.ServerMiddleware) == 0 &&
		o.Restart == nil && o.Verdicts == nil && o.Validator == nil
}
