package chat

import (
	"cmp"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/models"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		all := append(slices.Clip(pairs), name, "")
		return all[slices.Index(all, name)+1]
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		env  func(string) string
		want options
		at   models.Model
		hint string
	}{
		"nothing": {nil, env(), options{}, models.Model{}, ""},
		"all": {
			[]string{"-base-url", "http://h/v1/", "-model", "m", "-config", "c", "-prompt", "p", "-yes", "-answer", "a=b=c", "-answer", "d=", "-connect-timeout", "1m", "-idle-timeout", "2m", "-call-timeout", "3m",
				"-revision", "a=2025-11-25", "-no-instructions"},
			env("OPENAI_API_KEY", "k", "OPENAI_MODEL", "other"),
			options{config: "c", prompt: "p", oneShot: true, yes: true,
				answers: answers.Answers{"a": "b=c", "d": ""}, timeouts: cli.Timeouts{Connect: time.Minute, Idle: 2 * time.Minute, Call: 3 * time.Minute},
				revisions: cli.Revisions{"a": "2025-11-25"}, noInstructions: true},
			models.Model{BaseURL: "http://h/v1", Name: "m", Key: "k"}, "",
		},
		"environment": {nil, env("OPENAI_BASE_URL", "https://h/v1", "OPENAI_MODEL", "m"), options{}, models.Model{BaseURL: "https://h/v1", Name: "m"}, ""},
		"openai": {[]string{"-model", "m"}, env("OPENAI_API_KEY", "k"), options{},
			models.Model{BaseURL: "https://api.openai.com/v1", Name: "m", Key: "k"}, ""},
		"key alone": {nil, env("OPENAI_API_KEY", "k"), options{}, models.Model{Key: "k"}, "OPENAI_API_KEY is set, but neither -model nor OPENAI_MODEL"},
		"endpoint alone": {nil, env("OPENAI_BASE_URL", "http://h"), options{}, models.Model{BaseURL: "http://h"},
			"OPENAI_BASE_URL is set, but neither -model nor OPENAI_MODEL"},
	} {
		t.Run(name, func(t *testing.T) {
			got := check.Value(parseFlags(tt.args, tt.env, io.Discard))(t)
			tt.want.timeouts.Connect = cmp.Or(tt.want.timeouts.Connect, 30*time.Second)
			tt.want.timeouts.Idle = cmp.Or(tt.want.timeouts.Idle, 5*time.Minute)
			tt.want.timeouts.Call = cmp.Or(tt.want.timeouts.Call, time.Hour)
			check.Equal(t, "hint", got.model.Hint, tt.hint)
			check.Same(t, "model", got.model.Model, tt.at, cmpopts.EquateEmpty())
			got.model = nil
			check.Same(t, "", *got, tt.want, gocmp.AllowUnexported(options{}), cmpopts.EquateEmpty())
		})
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"-nonsense", "there is no flag -nonsense"},
		{"-modle x", `there is no flag -modle (did you mean "-model"?)`},
		{"hello", `unexpected argument "hello"; a question goes into -prompt`},
		{"mcp.json", `unexpected argument "mcp.json"; a file of servers goes into -config`},
		{"-window abc", `invalid value "abc" for flag -window: want a whole number`},
		{"-idle-timeout 1d", `invalid value "1d" for flag -idle-timeout: want a time such as 30s, 5m or 720h`},
		{"-yes=maybe", `invalid boolean value "maybe" for -yes: want true or false`},
		{"-effort superhigh", `-effort "superhigh": want none, minimal, low, medium, high, xhigh or max`},
		{"-host x -model m", `-host "x": want compatible, openai, azure, ollama, vllm, llamacpp, lmstudio, openrouter, groq, together, gemini, mistral, deepseek or moonshot`},
		{"-prompt=", "-prompt is empty"},
		{"-answer x", `invalid value "x" for flag -answer: want key=value`},
		{"-answer a=1 -answer a=2", `invalid value "a=2" for flag -answer: "a" is given twice`},
		{"-base-url http://h", "-base-url needs the name of a model, in -model or OPENAI_MODEL"},
		{"-base-url user:hunter2@h:1/v1?key=hunter2 -model m", `the base URL "h:1/v1" is not a complete http or https URL; is http:// or https:// missing before it?`},
		{"-base-url ftp://h -model m", `the base URL "ftp://h" is not a complete http or https URL`},
		{"-revision x=1", `invalid value "x=1" for flag -revision: want one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, or server=revision`},
		{"-idle-timeout 0s", "-idle-timeout has to be above 0"},
		{"-call-timeout -1s", "-call-timeout has to be above 0"},
		{"-connect-timeout 0s", "-connect-timeout has to be above 0"},
		{"-demo -config c", "-demo and -config name two sets of servers"},
		{"-model m", "a model needs an endpoint, in -base-url or OPENAI_BASE_URL, or an OPENAI_API_KEY for https://api.openai.com/v1; Claude needs -model-api messages and an ANTHROPIC_API_KEY"},
	} {
		_, err := parseFlags(strings.Fields(tt.args), env(), io.Discard)
		_, ok := errors.AsType[*cli.Error](err)
		check.That(t, ok && err.Error() == tt.want+"; mcpchain chat -help lists the flags", "%s: got %v, want %s", tt.args, err, tt.want)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	check.Is(t, check.Err(parseFlags([]string{"-h"}, env("OPENAI_API_KEY", "k3y"), &help)), flag.ErrHelp)
	for _, want := range []string{"-base-url URL", "-yes ", "-answer key=value", "-idle-timeout time", "-idle-timeout without an answer", "Exit status", "/tools "} {
		check.Contains(t, "the help", help.String(), want)
	}
}

// -model finds a model of the file by its name there, with its own endpoint and key.
func TestModelOfTheFile(t *testing.T) {
	t.Parallel()
	path := write(t, "models.json", `{"default": "small", "models": {
		"small": {"baseUrl": "http://small/v1/", "model": "s", "window": 8192}, "big": {"baseUrl": "https://big/v1", "model": "b", "apiKey": "${BIG}"}}}`)
	for name, tt := range map[string]struct {
		args []string
		env  func(string) string
		want string
	}{
		"default":     {nil, env("OPENAI_API_KEY", "k"), "http://small/v1 s "},
		"by name":     {[]string{"-model", "big"}, env("BIG", "kb"), "https://big/v1 b kb"},
		"other":       {nil, env("OPENAI_MODEL", "gpt", "OPENAI_API_KEY", "k"), "https://api.openai.com/v1 gpt k"},
		"flag":        {[]string{"-model", "big", "-base-url", "http://h/v1"}, env(), "http://h/v1 big "},
		"environment": {nil, env("OPENAI_MODEL", "big", "BIG", "kb"), "https://big/v1 b kb"},
		"gateway":     {nil, env("OPENAI_MODEL", "gpt", "OPENAI_BASE_URL", "http://g/v1"), "http://g/v1 gpt "},
	} {
		o := check.Value(parseFlags(append([]string{"-models", path}, tt.args...), tt.env, io.Discard))(t)
		check.Equal(t, name, o.model.Model.BaseURL+" "+o.model.Model.Name+" "+o.model.Model.Key, tt.want)
	}
	_, err := parseFlags([]string{"-models", path}, env("OPENAI_MODEL", "small", "OPENAI_BASE_URL", "http://g/v1"), io.Discard)
	check.Text(t, err, "the model small has an endpoint in "+path+", and OPENAI_BASE_URL names another one")
	empty := write(t, "empty.json", "{}")
	for args, want := range map[string]string{
		"-model big -models " + path: "environment variable BIG is not set",
		"-models /nonexistent":       "-models: stat /nonexistent: ",
		"-models " + empty:           "-models: there are no models in " + empty,
	} {
		check.Text(t, check.Err(parseFlags(strings.Fields(args), env(), io.Discard)), want, args)
	}
}
