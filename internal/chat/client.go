package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Options configure a client. Nil and the zero value are valid.
type Options struct {
	// Host names the kind of server behind the base URL, see [Hosts]. Default: by the base URL.
	Host string

	// Retries bounds the retries after temporary failures: an unreachable host and the statuses 408, 429 and 5xx,
	// without 501 and 505. Default 2; negative: none. There is none if the host asks for a wait of more than 30 s. While
	// a host says that it is loading the model, it is asked again for up to 2 minutes.
	Retries int

	// Retrying is called before the wait for another attempt. Default nil.
	Retrying func(err error, wait time.Duration)

	// Timeout bounds one attempt, its whole answer included. Default 10 min.
	Timeout time.Duration

	// IdleTimeout bounds the silence within a stream. Default 2 min.
	IdleTimeout time.Duration

	// API selects an API, [Chat] or [Responses]. Default: by the host and the model.
	API string

	// Extra are fields to add to every request, for features of a single host.
	Extra map[string]json.RawMessage
}

// chatCompletion names the API in errors.
const chatCompletion = "chat completion"

// Client asks one host. It may be used concurrently.
type Client struct {
	wire    *Wire
	config  openai.ClientConfig
	query   string // query of the base URL
	profile Profile
	memory  *Memory // the memory of requests without one
	extra   map[string]json.RawMessage
	api     string

	learned sync.Map // *Profile by model: the profile with what the host demands or refuses beside it
}

// New returns a client, or an error for a configuration or options that make no sense. It does no I/O.
func New(cfg openai.ClientConfig, opts *Options) (*Client, error) {
	o := *cmp.Or(opts, new(Options))
	detected, err := detect(&cfg)
	if err != nil {
		return nil, err
	}
	profile, err := findProfile(cmp.Or(o.Host, detected))
	if err != nil {
		return nil, err
	}
	if err := checkVersion(&cfg); err != nil {
		return nil, err
	}
	if o.API != "" && o.API != Chat && o.API != Responses {
		return nil, fmt.Errorf("unknown API %q; use %s or %s", excerpt.Cut(o.API), Chat, Responses)
	}
	if err := checkExtra(o.Extra); err != nil {
		return nil, err
	}
	var query string
	cfg.BaseURL, query = SplitQuery(cfg.BaseURL)
	return &Client{
		wire: NewWire(chatCompletion, cfg.HTTPClient, &o), config: cfg, query: query, profile: profile,
		memory: NewMemory(), extra: maps.Clone(o.Extra), api: o.API,
	}, nil
}

// SplitQuery splits a base URL, to which a path is going to be appended, before its query. A fragment is dropped.
func SplitQuery(baseURL string) (base, query string) {
	base, _, _ = strings.Cut(baseURL, "#")
	base, query, _ = strings.Cut(base, "?")
	return base, query
}

// checkVersion refuses versions of Azure's API without max_completion_tokens; go-openai's default is one of them.
func checkVersion(cfg *openai.ClientConfig) error {
	const first = "2024-09-01"
	dated := len(cfg.APIVersion) >= len(first) && cfg.APIVersion[0] == '2'
	if (cfg.APIType == openai.APITypeAzure || cfg.APIType == openai.APITypeAzureAD) && dated && cfg.APIVersion < first {
		return fmt.Errorf("API version %s is too old; set APIVersion of the configuration to 2024-10-21 or later", excerpt.Cut(cfg.APIVersion))
	}
	return nil
}

// checkExtra refuses fields that a Request sets.
func checkExtra(extra map[string]json.RawMessage) error {
	for key, value := range extra {
		switch key {
		case "model", "messages", "input", "instructions", "tools", "tool_choice", "stream", "stream_options", "n",
			"max_tokens", "max_completion_tokens", "max_output_tokens", "stop":
			return fmt.Errorf("extra field %q: it is set by the request", key)
		}
		if !json.Valid(value) {
			return fmt.Errorf("extra field %q: not JSON", key)
		}
	}
	return nil
}

// Complete asks for a completion. A failure of the host is an [*Error]. So is a request that the host is known
// not to support; it is not sent.
func (c *Client) Complete(ctx context.Context, r *Request) (*Reply, error) {
	return c.ask(ctx, r, false, Deltas{})
}

// Stream asks for a completion and calls deltas as it arrives. It never retries after the host has begun to
// answer. A stream that breaks off is an error, even after a part of the reply.
func (c *Client) Stream(ctx context.Context, r *Request, deltas Deltas) (*Reply, error) {
	return c.ask(ctx, r, true, deltas)
}

// ask gets a reply, with a tool call if one is required. A request that the host refuses for a known reason is written
// again. If that succeeds, later requests for the model are written in this way, too.
func (c *Client) ask(ctx context.Context, r *Request, streams bool, deltas Deltas) (*Reply, error) {
	d, err := c.encode(r, streams)
	if err != nil {
		return nil, requestError(err)
	}
	adapted := false
	answer := func(ctx context.Context) Answer { return d.newAnswer(ctx, deltas) }
	if err := c.wire.post(ctx, d.request, answer, func(failure *Error) *http.Request {
		profile := d.adapt(failure)
		if profile == nil {
			return nil
		}
		next, err := c.encodeBy(profile, r, streams)
		if err != nil {
			return nil
		}
		d, adapted = next, true
		return d.request
	}); err != nil {
		return nil, c.findRefusedTool(ctx, r, err)
	}
	if adapted {
		c.learned.Store(d.model, d.profile)
	}
	reply := d.reply
	if d.mustCall && len(reply.ToolCalls) == 0 && reply.Refusal == "" && reply.Finish != FinishLength {
		const message = "a tool call was required, the model answered without one" // not all hosts can force one
		return nil, &Error{Code: CodeNoToolCall, Message: message, Usage: reply.Usage}
	}
	return reply, nil
}

// newRequest returns the request of a draft.
func (c *Client) newRequest(d *draft) (*http.Request, error) {
	body, err := jsonrpc.Marshal(d.fields)
	if err != nil {
		return nil, err
	}
	pattern, err := requestOf(c.config, func(client *openai.Client) (err error) {
		ctx := context.Background()
		switch {
		case d.endpoint == Responses:
			_, err = client.CreateResponse(ctx, openai.CreateResponseRequest{})
		case d.streams:
			_, err = client.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{Model: d.model})
		default:
			_, err = client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: d.model})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	pattern.URL.RawQuery = strings.Trim(c.query+"&"+pattern.URL.RawQuery, "&")
	return newRequest(pattern.URL.String(), pattern.Header, body)
}

// requestOf returns the request that go-openai sends in a call, for its URL and its header: go-openai knows the addresses
// and the authentication.
func requestOf(cfg openai.ClientConfig, call func(*openai.Client) error) (*http.Request, error) {
	doer := &requestKeeper{}
	cfg.HTTPClient = doer
	if err := call(openai.NewClientWithConfig(cfg)); doer.request == nil {
		return nil, err
	}
	return doer.request, nil
}

// requestKeeper is an [openai.HTTPDoer] that keeps a request instead of sending it.
type requestKeeper struct{ request *http.Request }

func (k *requestKeeper) Do(r *http.Request) (*http.Response, error) {
	k.request = r
	return nil, errors.New("kept")
}
