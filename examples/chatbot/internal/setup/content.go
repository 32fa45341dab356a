package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// content is what a project's file says, with the environment files that it names. It is read
// once, so that what the person has allowed is what is used.
type content struct {
	file  []byte
	other map[string][]byte // the environment files, by the paths that they are read by
}

// contentOf reads the environment files of a project's file. One that cannot be read is none:
// its server cannot be used.
func contentOf(ctx context.Context, path string, file []byte) (*content, error) {
	c := &content{file, map[string][]byte{}}
	l := config.Loader{
		Filters: true, SignIn: true,
		Input: func(context.Context, *config.Input) (string, error) { return "x", nil }, // the person is asked later
		EnvFile: func(path string) ([]byte, error) {
			data, err := read(path)
			if err == nil {
				c.other[path] = data
			}
			return data, err
		},
	}
	_, err := l.LoadData(ctx, path, file)
	return c, err
}

// environment is the content of an environment file that the person has allowed.
func (c *content) environment(path string) ([]byte, error) {
	data, ok := c.other[path]
	if !ok {
		return nil, fmt.Errorf("%s could not be read when you were asked about it", path)
	}
	return data, nil
}

// fingerprint tells one content from another.
func (c *content) fingerprint() string {
	if len(c.other) == 0 {
		return fingerprint(c.file)
	}
	sum := sha256.New()
	part := func(data []byte) { fmt.Fprintf(sum, "%d:%s", len(data), data) }
	part(c.file)
	for _, path := range slices.Sorted(maps.Keys(c.other)) {
		part([]byte(path))
		part(c.other[path])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
