package models_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

func TestModels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.json")
	check.Equal(t, "models of a missing file", len(check.Value(models.Read(path))(t).Models), 0)
	write(t, path, "\uFEFF"+`{"default": "big", "models": {
		"fast": {"baseUrl": "http://localhost/v1", "model": "q"}, "big": {"baseUrl": "https://h/v1", "model": "g", "apiKey": "k-${KEY}"}}}`)
	m := check.Value(models.Read(path))(t)
	getenv := func(name string) string { return map[string]string{"KEY": "s3cret"}[name] }
	for name, want := range map[string]models.Model{
		"":      {BaseURL: "https://h/v1", Name: "g", Key: "k-s3cret"},
		"fast":  {BaseURL: "http://localhost/v1", Name: "q"},
		"other": {},
	} {
		got, found, err := m.Find(name, getenv)
		check.That(t, err == nil && reflect.DeepEqual(got, want) && found == (want.Name != ""), "%q: got %+v, %v, %v, want %+v", name, got, found, err, want)
	}
	_, _, err := m.Find("big", func(string) string { return "" })
	check.That(t, err != nil && strings.Contains(err.Error(), "environment variable KEY is not set"), "got %v, want the variable", err)
}

func TestWrongModels(t *testing.T) {
	for text, want := range map[string]string{
		"x":                 "1: invalid character 'x'",
		"":                  "1: unexpected EOF",
		"{\"models\": {\n":  "2: unexpected EOF",
		"{\"models\":\n[]}": "2: models: want an object",
		"{\"models\": {\n\"a\": {\n\"baseURL\": \"x\"}}}":                                            `3: models.a.baseURL: unknown key (did you mean "baseUrl"?); known keys: model, baseUrl, apiKey, api, `,
		"{\"models\": {\n\"a\": {\"model\": \"m\",\n\"model\": \"n\"}}}":                             "3: duplicate object member name",
		"{\"models\": {\n\"a\": {\"baseUrl\": \"x\"}}}":                                              "2: a: want a baseUrl and a model",
		"{\"models\": {\"a\": {\"baseUrl\": \"x\",\n\"model\": \"m\",\n\"effort\": \"superhigh\"}}}": `3: a: effort "superhigh": want none, `,
		"{\"models\": {\"a\": {\"baseUrl\": \"x\", \"model\": \"m\",\n\"host\": \"x\"}}}":            `2: a: host "x": want compatible, `,
		"{\"models\": {\"a\": {\"baseUrl\": \"x\", \"model\": \"m\",\n\"maxTokens\": -1}}}":          "2: a: maxTokens is below 0",
		"{\"models\": {\n\"a/b\": {\"api\": \"messages\", \"model\": \"m\", \"host\": \"vllm\"}}}":   "2: a/b: host is for OpenAI-compatible endpoints",
		"{\"models\": {\n\"a\": {\"api\": \"messages\", \"model\": \"m\",\n\"window\": 9}}}":         `3: a: window is for OpenAI-compatible endpoints, not for the "messages" API`,
		"{\"models\": {}}\n{\"default\": \"a\"}":                                                     "2: invalid character '{' after top-level value",
		"{\"models\": {\"a\": {\"baseUrl\": \"x\", \"model\": \"m\",\n\"maxTokens\":\n\"9\"}}}":      "3: models.a.maxTokens: want a whole number",
		"{\"models\": {\"a\": {\"baseUrl\": \"x\", \"model\": \"hidden\"}},\n\"default\": \"b\"}":    "2: default: b is not one of the models: \"a\"",
	} {
		path := filepath.Join(t.TempDir(), "models.json")
		write(t, path, text)
		check.Text(t, check.Err(models.Read(path)), path+":"+want, text)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestPublicURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://user:pass@host/v1?key=secret#x": "https://host/v1",
		"user:pass@host:1/v1":                    "host:1/v1",
		"http://host?key=secret":                 "http://host",
		"https://host/@org/mcp":                  "https://host/@org/mcp",
		"http://user:pa/ss@host/v1":              "http://host/v1",
	} {
		check.Equal(t, "", models.PublicURL(in), want)
	}
}

// A key of the environment goes neither to a host of another API nor to an address of a file.
func TestKeysStayAtTheirHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.json")
	write(t, path, `{"models": {"own": {"api": "messages", "model": "c", "baseUrl": "https://gateway", "apiKey": "filed"},
		"none": {"api": "messages", "model": "c", "baseUrl": "https://gateway"}, "plain": {"api": "messages", "model": "c"},
		"keyed": {"api": "messages", "model": "c", "apiKey": "filed"}, "chat": {"model": "m", "baseUrl": "https://gateway/v1"}}}`)
	all := map[string]string{"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "OPENAI_BASE_URL": "https://openai.example/v1"}
	openAIAlone := map[string]string{"OPENAI_API_KEY": "o"}
	gateway := map[string]string{"ANTHROPIC_API_KEY": "g", "ANTHROPIC_BASE_URL": "https://claude.example"}
	for _, tt := range []struct {
		args      string
		env       map[string]string
		key, base string
		fails     bool
	}{
		{"-model-api messages -model c", all, "a", "", false},
		{"-model-api messages -model c", openAIAlone, "", "", true},
		{"-model-api messages -model c -base-url https://mine", all, "a", "https://mine", false},
		{"-model own", all, "filed", "https://gateway", false},
		{"-model none", all, "", "https://gateway", true},
		{"-model plain", all, "a", "", false},
		{"-model plain -model-api chat", all, "", "", true},
		{"-model keyed -model-api chat", openAIAlone, "filed", "", true},
		{"-model plain", gateway, "g", "https://claude.example", false},
		{"-model keyed", gateway, "filed", "", false},
		{"-model chat", map[string]string{"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}, "", "https://gateway/v1", false},
	} {
		f, err := complete(tt.args+" -models "+path, tt.env)
		check.That(t, (err != nil) == tt.fails && f.Model.Key == tt.key && f.Model.BaseURL == tt.base, "%s: got key %q at %q, %v; want %q at %q", tt.args, f.Model.Key, f.Model.BaseURL, err, tt.key, tt.base)
	}
}

// A model that a person finds in the file by its name gets the same key as by -model.
func TestKeyOfAFoundModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.json")
	write(t, path, `{"models": {"own": {"api": "messages", "model": "c", "apiKey": "filed"}, "plain": {"api": "messages", "model": "c"},
		"gateway": {"api": "messages", "model": "c", "baseUrl": "https://gateway"}, "chat": {"model": "m", "baseUrl": "https://gateway/v1"}}}`)
	file := check.Value(models.Read(path))(t)
	getenv := func(name string) string { return map[string]string{"ANTHROPIC_API_KEY": "a"}[name] }
	for name, want := range map[string]string{"own": "filed", "plain": "a", "gateway": "", "chat": "", "missing": ""} {
		m, _, err := file.Find(name, getenv)
		check.NoError(t, err, name)
		check.Equal(t, name, m.Key, want)
	}
}

// A model that servers borrow is asked again as often as the model itself.
func TestRetriesOfASampler(t *testing.T) {
	asked := 0
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer host.Close()
	m := models.Model{Name: "m", BaseURL: host.URL, Retries: -1}
	_, err := check.Value(m.Sampler(sampling.Options{}))(t).CreateMessage(t.Context(), &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}},
		MaxTokens: 9,
	})
	check.Text(t, err, "the model's provider failed")
	check.Equal(t, "requests", asked, 1)
}

// Programs use ANTHROPIC_MODEL as the library does: with its own key, unless OPENAI_MODEL or a flag names another model.
func TestClaudeOfTheEnvironment(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "models.json")
	write(t, path, `{"default": "a", "models": {"a": {"baseUrl": "http://h/v1", "model": "q"}}}`)
	const base, o = "http://h/v1", "http://o/v1"
	claude := models.Model{Name: "claude-x", API: models.Messages, Key: "k"}
	for _, tt := range []struct {
		args, openai, base string
		want               models.Model
	}{
		{"", "", "", claude},
		{"", "", o, claude},
		{"-models " + path, "", "", claude},
		{"-models " + path + " -model a", "", "", models.Model{Name: "q", BaseURL: base}},
		{"", "gpt", o, models.Model{Name: "gpt", BaseURL: o}},
		{"-model m -base-url " + base, "", "", models.Model{Name: "m", BaseURL: base}},
		{"-model-api chat", "", "", models.Model{API: "chat"}},
	} {
		f, err := complete(tt.args, map[string]string{"ANTHROPIC_MODEL": "claude-x", "ANTHROPIC_API_KEY": "k", "OPENAI_MODEL": tt.openai, "OPENAI_BASE_URL": tt.base})
		check.That(t, err == nil && reflect.DeepEqual(f.Model, tt.want), "%q: got %+v, %v, want %+v", tt.args, f.Model, err, tt.want)
	}
	write(t, path, `{"models":{"a":{"baseUrl":"http://h/v1","model":"m"}}}`)
	for args, want := range map[string]string{
		"":                    "ANTHROPIC_API_KEY is set, but neither -model nor ANTHROPIC_MODEL",
		"-model-api messages": "ANTHROPIC_API_KEY is set, but neither -model nor ANTHROPIC_MODEL",
		"-models " + path:     "-models is given, but neither -model nor OPENAI_MODEL, and the file has no default",
	} {
		check.Equal(t, args, check.Value(complete(args, map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": base}))(t).Hint, want)
	}
}

// A mistake of the environment or of a file names its place. The list of flags helps with one of the command line only.
func TestWrongPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.json")
	write(t, path, `{"models": {"bad": {"model": "m", "baseUrl": "h/v1"}, "claude": {"api": "messages", "model": "c", "apiKey": "k"}}}`)
	wrong := map[string]string{"OPENAI_MODEL": "m", "OPENAI_BASE_URL": "h/v1", "ANTHROPIC_BASE_URL": "h/v1", "ANTHROPIC_API_KEY": "k"}
	for _, tt := range []struct {
		args, want string
		env        map[string]string
		isSetting  bool
	}{
		{"", `OPENAI_BASE_URL: the base URL "h/v1" is not `, wrong, true},
		{"-model m -model-api messages", `ANTHROPIC_BASE_URL: the base URL "h/v1" is not `, wrong, true},
		{"-model bad", path + `: the base URL "h/v1" is not `, nil, true},
		{"-model m -base-url h/v1", `the base URL "h/v1" is not `, wrong, false},
		{"-model claude -model-api chat", `-model-api "chat" needs a baseUrl, and the model has none in ` + path, nil, false},
		{"-model claude -model-api soap", `-model-api "soap": want chat, `, nil, false},
	} {
		_, err := complete(tt.args+" -models "+path, tt.env)
		_, ok := errors.AsType[*models.SettingError](err)
		check.That(t, err != nil && strings.HasPrefix(err.Error(), tt.want) && ok == tt.isSetting, "%s: got %T %v, want %s", tt.args, err, err, tt.want)
	}
}

// complete returns the settings of a command line and an environment.
func complete(args string, env map[string]string) (*models.Flags, error) {
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	f := models.Declare(set, func(name string) string { return env[name] })
	err := set.Parse(strings.Fields(args))
	if err == nil {
		err = f.Complete()
	}
	return f, err
}

// A file of prices that cannot be used is named, with its mistake.
func TestWrongPrices(t *testing.T) {
	missing, folder := filepath.Join(t.TempDir(), "prices.json"), t.TempDir()
	bad, negative := filepath.Join(folder, "bad.json"), filepath.Join(folder, "negative.json")
	unknown := filepath.Join(folder, "unknown.json")
	write(t, bad, "{\"models\":\n[x]}")
	write(t, unknown, "{\"models\": [{\"model\": \"m\",\n\"inptu\": 1}]}")
	write(t, negative, `{"date": "2026-11-22", "models": [{"model": "m", "currency": "USD", "input": -1}]}`)
	for path, want := range map[string]string{missing: "no such file", folder: "is not a file", bad: bad + ":2: ", unknown: unknown + `:2: models.0.inptu: unknown key (did you mean "input"?)`, negative: negative + ": "} {
		_, err := complete("-prices "+path, nil)
		check.Text(t, err, "-prices: ", path)
		check.Text(t, err, want, path)
		_, ok := errors.AsType[*models.SettingError](err)
		check.That(t, ok, "%s: got %T, want that the file is wrong", path, err)
	}
}

// A name that is not in the file of -models is an error with the names of the file, also if a key would let OpenAI have the
// question. The file in the configuration folder names models beside those of OpenAI.
func TestNameNotInTheFile(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, home)
	}
	path := filepath.Join(check.Value(os.UserConfigDir())(t), "mcpchain", "models.json")
	check.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	write(t, path, `{"models": {"small": {"baseUrl": "http://h/v1", "model": "q"}, "b": {"baseUrl": "http://h/v1", "model": "b"}}}`)
	key := map[string]string{"OPENAI_API_KEY": "k"}
	for _, tt := range []struct {
		args string
		env  map[string]string
		want string
	}{
		{"-model zz", nil, ` has no model "zz"; it has "b", "small"`},
		{"-models " + path + " -model zz", nil, ` has no model "zz"; it has "b", "small"`},
		{"-models " + path + " -model smal", key, ` has no model "smal" (did you mean "small"?); it has "b", "small"`},
		{"-models " + path + " -model smal", map[string]string{"OPENAI_BASE_URL": "http://g/v1"}, ` has no model "smal" (did you mean`},
	} {
		_, err := complete(tt.args, tt.env)
		check.Text(t, err, path+tt.want, tt.args)
		_, ok := errors.AsType[*models.SettingError](err)
		check.That(t, ok, "%s: got %T, want that the file is wrong", tt.args, err)
	}
	for args, base := range map[string]string{"-model gpt-6-sol": models.OpenAI, "-models " + path + " -model m -base-url http://g/v1": "http://g/v1"} {
		f, err := complete(args, key)
		check.NoError(t, err, args)
		check.Equal(t, args, f.Model.BaseURL, base)
	}
}

// The settings come from the command line, from a file, or from both.
func TestFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.json")
	write(t, path, `{"models": {"big": {"baseUrl": "https://h/v1", "model": "gpt-6-astra", "apiKey": "k", "effort": "high", "window": 400000, "maxTokens": 9,
		"api": "responses", "extra": {"a": 1}, "price": {"currency": "USD", "input": 1, "output": 2}}, "claude": {"api": "messages", "model": "claude-opus-5"}}}`)
	env := map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "a"}
	for args, want := range map[string]models.Model{
		"-model gpt-6-sol -effort low -model-api chat -host azure -max-tokens 7 -window 8 -extra {\"x\":1}": {Name: "gpt-6-sol", BaseURL: models.OpenAI, Key: "k",
			API: "chat", Host: "azure", Effort: "low", MaxTokens: 7, Window: 8, Extra: map[string]json.RawMessage{"x": json.RawMessage("1")}},
		"-model claude-opus-5 -model-api messages": {Name: "claude-opus-5", Key: "a", API: "messages"},
		"-model claude -models " + path:            {Name: "claude-opus-5", Key: "a", API: "messages"},
		"-model big -effort none -models " + path: {Name: "gpt-6-astra", BaseURL: "https://h/v1", Key: "k", API: "responses", Effort: "none", MaxTokens: 9, Window: 400000,
			Extra: map[string]json.RawMessage{"a": json.RawMessage("1")}, Price: &price.Price{Currency: "USD", Input: 1, Output: 2}},
	} {
		f, err := complete(args, env)
		check.That(t, err == nil && reflect.DeepEqual(f.Model, want), "%s: got %+v, %v, want %+v", args, f.Model, err, want)
		check.NoError(t, check.Err(f.Model.Open(nil)), args)
		_, err = f.Model.Sampler(sampling.Options{})
		check.That(t, (err == nil) == (want.API != models.Messages), "%s: sampler: %v", args, err)
		check.That(t, (f.Prices != nil) == (want.Price != nil) && (f.Prices == nil || cost.Check(f.Prices) == nil),
			"%s: got prices %+v", args, f.Prices)
	}
	for args, want := range map[string]string{
		"-model m -model-api soap": `-model-api "soap": want chat, responses or messages`, "-model m -window -1": "-window is below 0", "-model m -max-tokens -1": "-max-tokens is below 0",
		"-model m -host x": `-host "x": want compatible, openai, `, "-model-api messages -model c -host vllm": "-host is for OpenAI-compatible",
		"-model-api messages -model c -window 9": "-window is for OpenAI-compatible",
		"-model m -base-url h/v1":                "is http:// or https:// missing", "-model m -extra [1]": "want a JSON object, such as", "-model m -extra null": "want a JSON object, such as",
	} {
		check.Text(t, check.Err(complete(args, env)), want, args)
	}
}
