package lc

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/internal/convert"
)

// form is what a dialect means.
type form struct {
	rules    convert.Rules
	profile  profile.Profile
	provider string // by OpenTelemetry's conventions

	schemaMaps   bool // the parameters of a tool are a map[string]any
	noToolsAtEnd bool // tools are left out when the model has to answer without them
}

var forms = map[string]form{
	"openai":        {profile: profile.OpenAI, provider: "openai"},
	"openai-strict": {profile: profile.OpenAIStrict, provider: "openai"},
	"gemini":        {profile: profile.Gemini, provider: "gcp.gemini"},
	"llamacpp":      {profile: profile.LlamaCpp, provider: "llamacpp"},
	// Anthropic's provider ignores the tool choice, and the API requires the tools as long as the history has calls. So
	// its models are told in words when they have to answer without tools.
	"anthropic": {profile: profile.Anthropic, provider: "anthropic", rules: convert.Rules{SingleParts: true, NoBlankText: true}},
	"bedrock":   {profile: profile.OpenAI, provider: "aws.bedrock", rules: convert.Rules{SingleParts: true, NoBlankText: true}},
	"google":    {profile: profile.GoogleAI, provider: "gcp.gemini", rules: convert.Rules{MergedResults: true, SystemFirst: true}, schemaMaps: true},
	"mistral":   {profile: profile.OpenAI, provider: "mistral_ai", rules: convert.Rules{ResultsLast: true}, noToolsAtEnd: true},
}

// packages has the dialects of langchaingo's packages that are not openai.
var packages = map[string]string{
	"anthropic": "anthropic", "bedrock": "bedrock", "googleai": "google", "googleai/vertex": "google", "mistral": "mistral",
}

// providers has OpenTelemetry's names of providers that neither a form nor their package has.
var providers = map[string]string{"googleai/vertex": "gcp.vertex_ai", "watsonx": "ibm.watsonx.ai"}

// formOf returns the form of a dialect, by default the form of the package of the model's type. It
// panics if the dialect is unknown.
func formOf(d string, m llms.Model) form {
	path := packageOf(m)
	f, ok := forms[cmp.Or(d, packages[path], "openai")]
	switch {
	case !ok:
		panic(fmt.Sprintf("lc: unknown dialect %q; see ModelOptions.Dialect", d))
	case path == "" && d == "":
		f.provider = "unknown"
	case path != "":
		name, _, _ := strings.Cut(path, "/")
		f.provider = cmp.Or(providers[path], forms[packages[path]].provider, name)
	}
	return f
}

// packageOf returns the package of a model of langchaingo, below llms, and "" for another model.
func packageOf(m llms.Model) string {
	t := reflect.TypeOf(m)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path, found := strings.CutPrefix(t.PkgPath(), "github.com/tmc/langchaingo/llms/")
	if !found {
		return ""
	}
	return path
}
