package agent

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/convert"
)

// provider names the provider of a model: as the options say, or else the model, or else
// its type.
func (o *Options) provider(model llms.Model) string {
	if o.Provider != "" {
		return o.Provider
	}
	if m, ok := model.(interface{ ProviderName() string }); ok {
		return m.ProviderName()
	}
	return providerOf(cmp.Or(langchaingo(model), string(o.Dialect))) // the latter of a model that wraps another one
}

// toolless are the packages of langchaingo's providers that do not send the tools of a call, without a word.
var toolless = []string{"cloudflare", "cohere", "ernie", "huggingface", "llamafile", "local", "maritaca", "ollama", "watsonx"}

// langchaingo is the package of a model of langchaingo below its folder of models, "" for another model.
func langchaingo(model llms.Model) string {
	t := reflect.TypeOf(model)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path, _ := strings.CutPrefix(t.PkgPath(), "github.com/tmc/langchaingo/llms/")
	if path == t.PkgPath() {
		return ""
	}
	return path
}

// checkTools refuses tools for a model that would never be told of them.
func (o *Options) checkTools(model llms.Model) error {
	path := langchaingo(model)
	if len(o.Tools) == 0 || !slices.Contains(toolless, path) {
		return nil
	}
	return fmt.Errorf("options: Tools: langchaingo's provider %s does not send tools to its model; use package openaimodel with the provider's OpenAI-compatible URL%s", path, compatibleURL[path])
}

// compatibleURL are examples.
var compatibleURL = map[string]string{"ollama": ", such as http://localhost:11434/v1", "llamafile": ", such as http://localhost:8080/v1"}

// hostTemperature is the temperature of calls for which none is asked, for langchaingo's providers that
// send a 0 then: current models refuse any but the default of their hosts, which is 1.
func (o *Options) hostTemperature(model llms.Model) float64 {
	asked := llms.CallOptions{Temperature: math.NaN()}
	for _, set := range o.CallOptions {
		set(&asked)
	}
	if path := langchaingo(model); math.IsNaN(asked.Temperature) && (path == "anthropic" || path == "openai") {
		return 1
	}
	return 0
}

// providerOf is the name of a provider by its package in langchaingo, or by its dialect.
func providerOf(path string) string {
	switch path {
	case "":
		return "unknown"
	case "bedrock":
		return "aws.bedrock"
	case "googleai", string(convert.Google):
		return "gcp.gemini"
	case "googleai/vertex":
		return "gcp.vertex_ai"
	case "mistral":
		return "mistral_ai"
	case "watsonx":
		return "ibm.watsonx.ai"
	}
	name, _, _ := strings.Cut(path, "/")
	return name
}
