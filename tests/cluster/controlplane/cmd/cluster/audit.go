// SPDX-License-Identifier: Apache-2.0

// Counting requests in the audit log. The policy leaves RequestReceived out,
// so a request has one line; a watch has two (ResponseStarted, and
// ResponseComplete when it ends). One request is one auditID.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

type auditEvent struct {
	AuditID   string
	Stage     string
	Verb      string
	UserAgent string
	User      struct{ Username string }
	ObjectRef struct {
		Resource    string
		Subresource string
		Namespace   string
		Name        string
		APIGroup    string
	}
	ResponseStatus struct{ Code int }
}

// auditFields are what events can be filtered and grouped by.
var auditFields = map[string]func(e *auditEvent) string{
	"user":      func(e *auditEvent) string { return e.User.Username },
	"verb":      func(e *auditEvent) string { return e.Verb },
	"resource":  auditResource,
	"namespace": func(e *auditEvent) string { return e.ObjectRef.Namespace },
	"name":      func(e *auditEvent) string { return e.ObjectRef.Name },
	"code":      func(e *auditEvent) string { return strconv.Itoa(e.ResponseStatus.Code) },
	"agent":     func(e *auditEvent) string { return e.UserAgent },
}

func auditResource(e *auditEvent) string {
	if e.ObjectRef.Subresource == "" {
		return e.ObjectRef.Resource
	}
	return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
}

type auditQuery struct {
	since int64
	want  map[string]*listFlag
}

func (q *auditQuery) filters() map[string]*listFlag {
	q.want = map[string]*listFlag{}
	for name := range auditFields {
		q.want[name] = &listFlag{}
	}
	return q.want
}

// matches: within one filter any value will do (commas or repeated flags), and
// every filter given has to agree. An agent is matched by its beginning.
func (q *auditQuery) matches(event *auditEvent) bool {
	for name, flag := range q.want {
		if len(*flag) == 0 {
			continue
		}
		have := auditFields[name](event)
		wanted := strings.Split(strings.Join(*flag, ","), ",")
		if name == "agent" {
			if !slices.ContainsFunc(wanted, func(w string) bool { return strings.HasPrefix(have, w) }) {
				return false
			}
		} else if !slices.Contains(wanted, have) {
			return false
		}
	}
	return true
}

// each calls visit for the first line of every matching request.
func (q *auditQuery) each(path string, visit func(event *auditEvent, line []byte)) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(q.since, io.SeekStart); err != nil {
		return err
	}

	seen := map[string]bool{}
	reader := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what has no newline yet is still being written
		}
		if err != nil {
			return err
		}
		event := auditEvent{}
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if q.matches(&event) && !seen[event.AuditID] {
			seen[event.AuditID] = true
			visit(&event, line)
		}
	}
}

func (q *auditQuery) printCount(path string) error {
	count := 0
	err := q.each(path, func(*auditEvent, []byte) { count++ })
	if err == nil {
		fmt.Println(count)
	}
	return err
}

func (q *auditQuery) printLines(path string) error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	return q.each(path, func(_ *auditEvent, line []byte) { out.Write(line) })
}

func (q *auditQuery) printTable(path string, fields []string) error {
	for _, field := range fields {
		if auditFields[field] == nil {
			return fmt.Errorf("unknown audit field %q", field)
		}
	}
	counts := map[string]int{}
	err := q.each(path, func(event *auditEvent, _ []byte) {
		var key []string
		for _, field := range fields {
			value := auditFields[field](event)
			if value == "" {
				value = "-"
			}
			key = append(key, value)
		}
		counts[strings.Join(key, "\t")]++
	})
	if err != nil {
		return err
	}

	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool {
		if counts[keys[i]] != counts[keys[j]] {
			return counts[keys[i]] > counts[keys[j]]
		}
		return keys[i] < keys[j]
	})
	for _, key := range keys {
		fmt.Printf("%d\t%s\n", counts[key], key)
	}
	return nil
}

func printAuditMark(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println(0)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Println(info.Size())
	return nil
}
