package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// content is what a project's file says, with the environment files that it names. It is read
// once, so that what the person has allowed is what is used.
type content struct {
	file  []byte
	other map[string][]byte // the environment files, by the paths that they are read by
	wrong map[string]error  // why the remaining ones could not be read
}

// contentOf reads the environment files of a project's file. One that cannot be read counts as missing: its server cannot
// be used.
func contentOf(ctx context.Context, path string, file []byte) (*content, error) {
	c := &content{file, map[string][]byte{}, map[string]error{}}
	l := config.Loader{
		Filters: true, SignIn: true,
		Input: func(context.Context, *config.Input) (string, error) { return "x", nil }, // the person is asked later
		EnvFile: func(path string) ([]byte, error) {
			data, err := read(path)
			if err != nil {
				c.wrong[path] = err
				return nil, err
			}
			c.other[path] = data
			return data, nil
		},
	}
	if _, err := l.LoadData(ctx, path, file); err != nil {
		return nil, &cli.FileError{Err: err}
	}
	return c, nil
}

// environment is the content of an environment file, read with the file.
func (c *content) environment(path string) ([]byte, error) {
	if data, ok := c.other[path]; ok {
		return data, nil
	}
	if err := c.wrong[path]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s: %w", path, errNotRead)
}

var errNotRead = errors.New("it was not read with the file that names it")

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
