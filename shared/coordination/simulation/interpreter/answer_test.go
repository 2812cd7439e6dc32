package interpreter

import (
	"testing"
	"time"
)

const answerLibrary = `#!lua name=answers
runs = 0
redis.register_function({ function_name = 'get', flags = { 'no-writes' }, callback = function(keys)
  runs = runs + 1
  return { redis.call('HGET', keys[1], 'f') or '', string.format('%d', runs) }
end })
redis.register_function({ function_name = 'time', flags = { 'no-writes' }, callback = function(keys) return redis.call('TIME')[1] end })
`

func TestAnswerIsValidUntilAReadKeyIsWritten(t *testing.T) {
	now := time.Unix(1, 0)
	s, err := New(Options{Library: answerLibrary, Now: func() time.Time { return now }, Publish: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	get := func(key, value, runs string) {
		t.Helper()
		reply, err := s.FCall("get", []string{key}, nil)
		if got := reply.([]string); err != nil || got[0] != value || got[1] != runs {
			t.Errorf("%s: %q, %v, want %q by run %s", key, got, err, value, runs)
		}
	}
	get("k", "", "1")
	get("k", "", "1")
	get("other", "", "2")
	s.Do("HSET", "k", "f", "1")
	get("other", "", "2")
	get("k", "1", "3")
	get("k", "1", "3")
	full := s.Dump()
	s.Do("HDEL", "k", "f")
	get("k", "", "4")
	s.Do("HSET", "k", "f", "2")
	get("k", "2", "5")
	s.Do("DEL", "k")
	get("k", "", "6")
	s.Do("HSETNX", "k", "f", "3")
	get("k", "3", "7")
	before := s.Writes()
	s.Restore(full)
	get("k", "1", "8")
	if s.Writes() == before {
		t.Error("different data has the write number of the previous data")
	}
	for range 2 {
		now = now.Add(time.Second)
		if reply, err := s.FCall("time", []string{"k"}, nil); err != nil || reply != now.Format("5") {
			t.Errorf("the time is %v, %v, want %s", reply, err, now.Format("5"))
		}
	}
}
