// Command typetable prints, as JSON, how the Go types of the built-in kinds are written as JSON: which fields there
// are, which are left out when empty, and which are always there. The sandbox reads and writes objects by this table.
//
// Run it where the modules of Kubernetes are known:
//
//	cd tests/controlplane/go && go run ../../unit/sandbox/behaviour/typetable/main.go > ../../../syncd/sandbox/data/types.json
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// leaves are the types that write themselves as JSON: one letter each.
var leaves = map[reflect.Type]string{
	reflect.TypeOf(resource.Quantity{}):                    "q",
	reflect.TypeOf(intstr.IntOrString{}):                   "x",
	reflect.TypeOf(metav1.Time{}):                          "t",
	reflect.TypeOf(metav1.MicroTime{}):                     "t",
	reflect.TypeOf(metav1.Duration{}):                      "s",
	reflect.TypeOf(metav1.FieldsV1{}):                      "r",
	reflect.TypeOf(runtime.RawExtension{}):                 "r",
	reflect.TypeOf(apiextensions.JSON{}):                   "r",
	reflect.TypeOf(apiextensions.JSONSchemaProps{}):        "r",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrBool{}):  "r",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrArray{}): "r",
	reflect.TypeOf([]byte{}):                               "y",
}

var basics = map[reflect.Kind]string{
	reflect.String: "s", reflect.Bool: "b", reflect.Int32: "i", reflect.Int64: "l", reflect.Int: "l", reflect.Uint8: "n",
	reflect.Uint16: "n", reflect.Uint32: "n", reflect.Float64: "f", reflect.Interface: "r",
}

type table struct {
	Types map[string]map[string]string
	Kinds map[string]string
}

func main() {
	stable := regexp.MustCompile(`^v\d+$`)
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	if err := apiregistration.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	out := table{map[string]map[string]string{}, map[string]string{}}
	for gvk, known := range scheme.Scheme.AllKnownTypes() {
		_, isObject := reflect.PointerTo(known).MethodByName("GetObjectMeta")
		review := strings.HasSuffix(gvk.Kind, "Review") || gvk.Kind == "TokenRequest" || gvk.Kind == "Eviction" || gvk.Kind == "Binding"
		_, isList := known.FieldByName("Items")
		unserved := map[string]bool{"ComponentStatus": true, "PodStatusResult": true, "RangeAllocation": true, "ConversionReview": true}
		if unserved[gvk.Kind] || gvk.Version == "__internal" || !stable.MatchString(gvk.Version) || isList || !(isObject || review) {
			continue
		}
		out.Kinds[gvk.GroupVersion().String()+"/"+gvk.Kind] = out.add(known)
	}
	fmt.Printf("{\"kinds\":{\n%s\n},\"types\":{\n%s\n}}\n", rows(out.Kinds), rows(out.Types))
}

// rows writes a map with one line for each key, so that a new release of Kubernetes makes a readable difference.
func rows[V any](of map[string]V) string {
	lines := []string{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		value, err := json.Marshal(of[key])
		if err != nil {
			panic(err)
		}
		text := strings.NewReplacer(":", ": ", "\",\"", "\", \"").Replace(string(value))
		lines = append(lines, fmt.Sprintf("%q: %s", key, text))
	}
	return strings.Join(lines, ",\n")
}

// add notes a struct type and those below it, and gives its name.
func (t *table) add(of reflect.Type) string {
	path := strings.Split(of.PkgPath(), "/")
	name := strings.Join(path[max(0, len(path)-2):], ".") + "." + of.Name()
	if _, seen := t.Types[name]; seen {
		return name
	}
	fields := map[string]string{}
	t.Types[name] = fields
	t.fields(of, fields)
	return name
}

func (t *table) fields(of reflect.Type, into map[string]string) {
	for i := range of.NumField() {
		field := of.Field(i)
		tag := strings.Split(field.Tag.Get("json"), ",")
		options := map[string]bool{}
		for _, option := range tag[1:] {
			options[option] = true
		}
		if tag[0] == "-" || !field.IsExported() {
			continue
		}
		if options["inline"] || (field.Anonymous && tag[0] == "") {
			t.fields(field.Type, into)
			continue
		}
		flags := ""
		if options["omitempty"] {
			flags += "?"
		}
		if options["omitzero"] {
			flags += "!"
		}
		into[tag[0]] = flags + t.shape(field.Type)
	}
}

func (t *table) shape(of reflect.Type) string {
	if leaf, ok := leaves[of]; ok {
		return leaf
	}
	switch of.Kind() {
	case reflect.Pointer:
		return "*" + t.shape(of.Elem())
	case reflect.Slice, reflect.Array:
		return "[" + t.shape(of.Elem())
	case reflect.Map:
		return "{" + t.shape(of.Elem())
	case reflect.Struct:
		return "#" + t.add(of)
	}
	basic, ok := basics[of.Kind()]
	if !ok {
		panic(fmt.Sprintf("no letter for %v", of))
	}
	return basic
}
