package gateway

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ReadFile reads a configuration file over the defaults. Every mistake in it is
// told, with its line and its field; name is the file's, for that.
func ReadFile(r io.Reader, name string) (Config, error) {
	c := Default()
	f := &file{name: name}
	root, err := parseYAML(r)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	if root != nil {
		f.fields(root, "", c.fields(f))
	}
	return c, errors.Join(f.mistakes...)
}

// parseYAML returns the one document, nil for a file that says nothing.
func parseYAML(r io.Reader) (*yaml.Node, error) {
	dec := yaml.NewDecoder(r)
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document (---)")
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// file collects what is wrong with one.
type file struct {
	name     string
	mistakes []error
}

func (f *file) wrong(n *yaml.Node, field string, err error) {
	if field != "" {
		field += ": "
	}
	f.mistakes = append(f.mistakes, fmt.Errorf("%s:%d: %s%w", f.name, n.Line, field, err))
}

// reader takes a field's value; field is its name, for messages.
type reader func(n *yaml.Node, field string)

// fields hands each field of a mapping to its reader.
func (f *file) fields(n *yaml.Node, within string, readers map[string]reader) {
	n = followed(n)
	if n.Kind != yaml.MappingNode {
		f.wrong(n, within, errors.New("here should be fields, each a name and a value"))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		read, known := readers[name.Value]
		field := strings.TrimPrefix(within+"."+name.Value, ".")
		switch {
		case !known:
			f.wrong(name, field, unknownField(name.Value, readers))
		case seen[name.Value]:
			f.wrong(name, field, errors.New("the field is there twice"))
		default:
			read(value, field)
		}
		seen[name.Value] = true
	}
}

func unknownField(name string, readers map[string]reader) error {
	var names []string
	for n := range readers {
		names = append(names, n)
	}
	slices.Sort(names)
	return fmt.Errorf("unknown field %q; there are %s", name, strings.Join(names, ", "))
}

func followed(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// one reads a single value with parse.
func one[T any](f *file, to *T, parse func(string) (T, error)) reader {
	return func(n *yaml.Node, field string) {
		if v, ok := value(f, n, field, parse); ok {
			*to = v
		}
	}
}

// many reads a list of values, or one in place of a list of one.
func many[T any](f *file, to *[]T, parse func(string) (T, error)) reader {
	return func(n *yaml.Node, field string) {
		n = followed(n)
		items := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			items = n.Content
		}
		*to = make([]T, 0, len(items))
		for i, item := range items {
			if v, ok := value(f, item, fmt.Sprintf("%s[%d]", field, i), parse); ok {
				*to = append(*to, v)
			}
		}
	}
}

func value[T any](f *file, n *yaml.Node, field string, parse func(string) (T, error)) (v T, ok bool) {
	n = followed(n)
	if n.Kind != yaml.ScalarNode || isNull(n) {
		f.wrong(n, field, errors.New("a value is missing here"))
		return v, false
	}
	v, err := parse(n.Value)
	if err != nil {
		f.wrong(n, field, err)
		return v, false
	}
	return v, true
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, fmt.Errorf("%q is not true or false", s)
	}
	return s == "true", nil
}
