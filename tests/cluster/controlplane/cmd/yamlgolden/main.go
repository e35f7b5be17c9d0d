// SPDX-License-Identifier: Apache-2.0

// Command yamlgolden prints what the real sigs.k8s.io/yaml makes of YAML
// inputs, so that the C loader can be compared with it byte by byte.
//
//	yamlgolden [--strict]              documents on stdin, separated by NUL
//	yamlgolden [--strict] PATH…        one document per file; folders are walked in name order
//	yamlgolden --split [PATH…]         a multi-document stream, split by apimachinery's YAMLReader
//	yamlgolden --split=decoder [PATH…] the same stream through NewYAMLOrJSONDecoder, as kubectl
//	                                   and Argo CD read it (ends at the first error)
//
// stdout has one line per document: {"json": …} or {"error": "…"}; with PATHs
// the line begins with "file", with --split it carries the document's own
// text as "doc" (or "doc_base64" when that is no UTF-8). A NUL ends a
// document: "a\0b" and "a\0b\0" both are two. UTF-16 contains NULs, so such
// input has to come as files. Exit status is 0 also when documents have errors.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// splitMode is the value of --split, which may stand without one.
type splitMode string

func (m *splitMode) String() string   { return string(*m) }
func (m *splitMode) IsBoolFlag() bool { return true }
func (m *splitMode) Set(s string) error {
	switch s {
	case "true", "reader":
		*m = "reader"
	case "false":
		*m = ""
	case "decoder":
		*m = "decoder"
	default:
		return fmt.Errorf("want reader or decoder, got %q", s)
	}
	return nil
}

func main() {
	var split splitMode
	strict := flag.Bool("strict", false, "YAMLToJSONStrict: duplicate keys are errors")
	flag.Var(&split, "split", "split a stream: reader (YAMLReader) or decoder (YAMLOrJSONDecoder)")
	flag.Parse()

	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	if err := run(out, split, *strict, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "yamlgolden:", err)
		os.Exit(1)
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "yamlgolden:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, split splitMode, strict bool, paths []string) error {
	if len(paths) == 0 {
		data, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		if split != "" {
			return printStream(out, split, strict, "", data)
		}
		for _, doc := range nulSeparated(data) {
			if err := printLine(out, convert(doc, strict)); err != nil {
				return err
			}
		}
		return nil
	}

	files, err := listFiles(paths)
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if split != "" {
			err = printStream(out, split, strict, file, data)
		} else {
			err = printLine(out, append(fileField(file), convert(data, strict)...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nulSeparated cuts data at NULs; nothing after the last one is no document.
func nulSeparated(data []byte) [][]byte {
	docs := bytes.Split(data, []byte{0})
	if len(docs[len(docs)-1]) == 0 {
		docs = docs[:len(docs)-1]
	}
	return docs
}

func listFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := d.Name()
			isYAML := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
			if !d.IsDir() && (p == path || isYAML) {
				files = append(files, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// field is one "name": value pair of an output line. The value is already
// JSON, so that the library's own text reaches stdout untouched.
type field struct {
	name  string
	value []byte
}

func fileField(file string) []field {
	return []field{{"file", quote(file)}}
}

func quote(s string) []byte {
	text, _ := json.Marshal(s)
	return text
}

func printLine(out io.Writer, fields []field) error {
	var line bytes.Buffer
	line.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			line.WriteString(", ")
		}
		fmt.Fprintf(&line, "%q: %s", f.name, f.value)
	}
	line.WriteString("}\n")
	_, err := out.Write(line.Bytes())
	return err
}

// convert never panics itself: a panic inside the library is an answer too.
func convert(doc []byte, strict bool) (fields []field) {
	defer func() {
		if r := recover(); r != nil {
			fields = []field{{"error", quote(fmt.Sprint("panic: ", r))}}
		}
	}()
	toJSON := yaml.YAMLToJSON
	if strict {
		toJSON = yaml.YAMLToJSONStrict
	}
	text, err := toJSON(doc)
	if err != nil {
		return []field{{"error", quote(err.Error())}}
	}
	return []field{{"json", text}}
}

func printStream(out io.Writer, split splitMode, strict bool, file string, data []byte) error {
	var prefix []field
	if file != "" {
		prefix = fileField(file)
	}
	emit := func(fields []field) error {
		return printLine(out, append(prefix[:len(prefix):len(prefix)], fields...))
	}
	if split == "decoder" {
		return decodeStream(data, emit)
	}
	return readStream(data, strict, emit)
}

func readStream(data []byte, strict bool, emit func([]field) error) error {
	reader := kubeyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return emit([]field{{"error", quote(err.Error())}})
		}
		if err := emit(append([]field{docField(doc)}, convert(doc, strict)...)); err != nil {
			return err
		}
	}
}

func docField(doc []byte) field {
	if utf8.Valid(doc) {
		return field{"doc", quote(string(doc))}
	}
	return field{"doc_base64", quote(base64.StdEncoding.EncodeToString(doc))}
}

func decodeStream(data []byte, emit func([]field) error) error {
	decoder := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return emit([]field{{"error", quote(err.Error())}})
		}
		if len(raw) == 0 {
			raw = json.RawMessage("null")
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return err
		}
		if err := emit([]field{{"json", compact.Bytes()}}); err != nil {
			return err
		}
	}
}
