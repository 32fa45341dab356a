package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestFlags(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		env  func(string) string
		want options
	}{
		"nothing": {nil, env(), options{answers: answers{}}},
		"all": {
			[]string{"-base-url", "http://h/v1/", "-model", "m", "-config", "c", "-prompt", "p", "-yes", "-answer", "a=b=c", "-answer", "d=", "-trace", "t"},
			env("OPENAI_API_KEY", "k", "OPENAI_MODEL", "other"),
			options{baseURL: "http://h/v1", model: "m", apiKey: "k", config: "c", prompt: "p", oneShot: true, yes: true,
				answers: answers{"a": "b=c", "d": ""}, trace: "t"},
		},
		"environment": {
			nil, env("OPENAI_BASE_URL", "https://h/v1", "OPENAI_MODEL", "m"),
			options{baseURL: "https://h/v1", model: "m", answers: answers{}},
		},
		"openai": {
			[]string{"-model", "m"}, env("OPENAI_API_KEY", "k"),
			options{baseURL: "https://api.openai.com/v1", model: "m", apiKey: "k", answers: answers{}},
		},
		"key alone": {
			nil, env("OPENAI_API_KEY", "k"),
			options{apiKey: "k", modelHint: "OPENAI_API_KEY is set, but neither -model nor OPENAI_MODEL", answers: answers{}},
		},
		"endpoint alone": {
			nil, env("OPENAI_BASE_URL", "http://h"),
			options{baseURL: "http://h", modelHint: "OPENAI_BASE_URL is set, but neither -model nor OPENAI_MODEL", answers: answers{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseFlags(tt.args, tt.env, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, *got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"-nonsense", "flag provided but not defined: -nonsense"},
		{"hello", `unexpected argument "hello"; a question goes into -prompt`},
		{"-prompt=", "-prompt is empty"},
		{"-answer x", `invalid value "x" for flag -answer: want key=value`},
		{"-answer a=1 -answer a=2", `invalid value "a=2" for flag -answer: key "a" is there twice`},
		{"-base-url http://h", "-base-url needs the name of a model, in -model or OPENAI_MODEL"},
		{"-base-url h:1 -model m", "the base URL is not a complete http or https URL"},
		{"-model m", "a model needs an endpoint, in -base-url or OPENAI_BASE_URL, or an OPENAI_API_KEY for https://api.openai.com/v1"},
	} {
		_, err := parseFlags(strings.Fields(tt.args), env(), io.Discard)
		if _, ok := errors.AsType[*usageError](err); !ok || err.Error() != tt.want+"; -help lists the flags" {
			t.Errorf("%s: got %v, want %s", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	var help strings.Builder
	if _, err := parseFlags([]string{"-h"}, env("OPENAI_API_KEY", "k3y"), &help); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v, want flag.ErrHelp", err)
	}
	for _, want := range []string{"-base-url URL", "-yes ", "-answer key=value", "Exit status"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, &help)
		}
	}
}

func TestEndpointHidesSecrets(t *testing.T) {
	o := options{baseURL: "https://user:pass@host/v1?key=secret#x"}
	if got, want := o.endpoint(), "https://host/v1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
