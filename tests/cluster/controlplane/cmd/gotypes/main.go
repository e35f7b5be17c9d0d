// SPDX-License-Identifier: Apache-2.0

// Prints what OpenAPI does not say about the built-in types, as one JSON document for ../../openapi_table.py: the Go
// names of structs and scalars (they occur in the server's error messages), which fields are pointers, and which
// vanish when empty.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type field struct {
	Name     string `json:"name"`
	Type     shape  `json:"type"`
	Empty    bool   `json:"omitempty,omitempty"`
	Zero     bool   `json:"omitzero,omitempty"`
	Embedded string `json:"embedded,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	Key      string `json:"key,omitempty"`
}

// A type as a tree: Form is ptr, list, map, struct, custom (it reads JSON itself) or a scalar kind of Go's.
type shape struct {
	Form string `json:"form"`
	Go   string `json:"go"`
	Name string `json:"name,omitempty"`
	Item *shape `json:"item,omitempty"`
}

var structs = map[string][]field{}
var unmarshaler = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()

// k8s.io/api/apps/v1.Deployment is io.k8s.api.apps.v1.Deployment in OpenAPI.
func openapiName(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(host, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

func shapeOf(t reflect.Type) shape {
	s := shape{Go: t.String()}
	switch {
	case t.Kind() == reflect.Pointer:
		item := shapeOf(t.Elem())
		s.Form, s.Item = "ptr", &item
	case reflect.PointerTo(t).Implements(unmarshaler):
		s.Form, s.Name = "custom", openapiName(t)
	case t.Kind() == reflect.Struct:
		s.Form, s.Name = "struct", openapiName(t)
		visit(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		s.Form = "bytes"
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		item := shapeOf(t.Elem())
		s.Form, s.Item = map[bool]string{true: "list", false: "map"}[t.Kind() == reflect.Slice], &item
	default:
		s.Form = t.Kind().String()
	}
	return s
}

func fieldsOf(t reflect.Type) []field {
	out := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		if f.Anonymous && tag[0] == "" {
			for _, inner := range fieldsOf(f.Type) {
				inner.Embedded = strings.TrimSuffix(f.Name+"."+inner.Embedded, ".")
				out = append(out, inner)
			}
			continue
		}
		if !f.IsExported() || tag[0] == "-" {
			continue
		}
		one := field{Name: tag[0], Type: shapeOf(f.Type), Strategy: f.Tag.Get("patchStrategy"), Key: f.Tag.Get("patchMergeKey")}
		for _, option := range tag[1:] {
			one.Empty = one.Empty || option == "omitempty"
			one.Zero = one.Zero || option == "omitzero"
		}
		out = append(out, one)
	}
	return out
}

func visit(t reflect.Type) {
	name := openapiName(t)
	if _, seen := structs[name]; seen {
		return
	}
	structs[name] = nil
	structs[name] = fieldsOf(t)
}

func main() {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	for _, t := range s.AllKnownTypes() {
		visit(t)
	}
	if err := json.NewEncoder(os.Stdout).Encode(structs); err != nil {
		panic(err)
	}
}
