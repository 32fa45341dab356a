package openaimodel

import (
	"cmp"
	"errors"
	"os"

	"github.com/sashabaranov/go-openai"
)

// FromEnv returns the model OPENAI_MODEL with the key OPENAI_API_KEY, at OPENAI_BASE_URL if that is
// set, otherwise at OpenAI. It returns an error if OPENAI_MODEL is not set, or if neither
// OPENAI_API_KEY nor OPENAI_BASE_URL is.
func FromEnv() (*Model, error) {
	name, key, base := os.Getenv("OPENAI_MODEL"), os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL")
	switch {
	case name == "":
		return nil, errors.New("OPENAI_MODEL is not set: it names the model")
	case key == "" && base == "":
		return nil, errors.New("neither OPENAI_API_KEY nor OPENAI_BASE_URL is set: the model needs a key, or another provider")
	}
	config := openai.DefaultConfig(key)
	config.BaseURL = cmp.Or(base, config.BaseURL)
	return New(config, name, nil)
}
