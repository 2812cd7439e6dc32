#!lua name=holdfast2
-- The store's part of the protocol: the two steps of a restart that cannot wait for a leader. A death in the current round opens
-- the next round. The last join of a round starts the workers. The leader decides everything else in Go and writes it with `set`.
-- The cost of a call does not depend on the size of the group or on what members have stored.
-- KEYS[1] is the key of the state, s. The other keys of the group have the same prefix:
-- g          hash, written by the leader, read by members: token, inc (incarnation of the stored data), gen (generation of
--            the group), limit (highest round of the budget), delay (longest pause, ms), units (how many); n<u>: slots of
--            unit u; e<u>: units up to the end of its step; u:<prefix>: unit, Jobs, pods, step and release of a stage;
--            x:<pod>: fenced; o:<slot>: the pod assigned to it; p:<pod>: the slot assigned to it; h:<slot>: that pod's own slot,
--            which is its host name
-- s          string: the level that agents read and receive, a bar, and the values that only the functions use:
--            2 inc gen seq phase round started entered left pause|full early startedAt finished marks
-- w:<gen>    hash: slot -> the pod that holds it; !<slot> -> the last instance reported dead
-- j:<inc>.<round>.<u>   hash: slot -> "id attempt ran" of the instance that has joined the round
-- f:<inc>.<round>.<u>   hash: slot -> id of the finished worker
-- d          string: the first death of this round that may have left peers hanging
-- h          hash: a line for each of the last 100 rounds. r:<slot>: the relay in a slot, which only members use
-- c, l       channels: the level; a wake-up of the leader
-- Units are sets of stages, numbered in start order. Units below `started` are running in this round. Units below `entered` have
-- run in some round of this generation. A restart is in progress while started < entered. The first `full` units have fully joined.
-- Phases: A active, B over budget, R recreate, C closed, D done.

local VERSION = '2'
local STATE = '^' .. VERSION .. ' (%w+) (%d+) (%d+) (%u) (%d+) (%d+) (%d+) ([%d,-]+) (%d+)|(%d+) (%d+) (%d+) ([01]) ([0-7]*)$'
local MAX_COUNT, MAX_TEXT, MAX_BATCH = 9007199254740991, 512, 128
local RAN, NEW, DIED = 1, 2, 4 -- marks of a unit: a member was running in this round; a pod is new; peers may hang because of a death
local EARLY, FREE, MOST, FIRST = 60000, 2, 16, 1000 -- a round is healthy after EARLY ms; FREE early ends have no pause; at most MOST early ends count; the first pause in ms

local function fail(code) error({ err = code }, 0) end
local function number(text, least)
  local n = #text < 17 and tonumber(text)
  return n and n >= least and n <= MAX_COUNT and n % 1 == 0 and n or fail('HFARGUMENT')
end

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function load(base)
  local g = redis.call('HMGET', base .. 'g', 'inc', 'limit', 'units', 'delay', 'gen')
  local raw = redis.call('GETRANGE', base .. 's', 0, MAX_TEXT)
  local inc, gen, seq, phase, round, started, entered, left, pause, full, early, at, finished, marks = string.match(raw, STATE)
  local s = {
    base = base, raw = raw, inc = inc, gen = gen, seq = tonumber(seq), phase = phase, round = tonumber(round),
    started = tonumber(started), entered = tonumber(entered), left = left, pause = tonumber(pause), full = tonumber(full),
    early = tonumber(early), startedAt = tonumber(at), finished = finished, marks = marks,
    limit = tonumber(g[2]), units = tonumber(g[3]), delay = tonumber(g[4]),
  }
  if inc ~= g[1] or gen ~= g[5] or s.seq >= MAX_COUNT or s.round >= MAX_COUNT or s.started > s.units or s.entered > s.units or
    s.full > s.units or #marks ~= s.units then fail('HFFOREIGN') end
  return s
end

local function level(s)
  return string.format('%s %s %s %d %s %d %d %d %s %d',
    VERSION, s.inc, s.gen, s.seq, s.phase, s.round, s.started, s.entered, s.left, s.pause)
end

-- save writes a changed state and returns the level. It publishes first, so that nothing is written if the server rejects that.
local function save(s)
  if not s.publish and not s.changed then return string.match(s.raw, '^[^|]+') end
  s.seq = s.seq + 1 -- on every change, so that `set` cannot undo it
  local text = level(s)
  if s.publish then redis.call('PUBLISH', s.base .. 'c', text) end
  redis.call('SET', s.base .. 's',
    text .. string.format('|%d %d %d %s %s', s.full, s.early, s.startedAt, s.finished, s.marks))
  return text
end

local function tableOf(s, kind, u, round) return s.base .. kind .. s.inc .. '.' .. string.format('%d.%d', round or s.round, u) end
local function wakeLeader(base) redis.call('PUBLISH', base .. 'l', '') end
local function has(s, u, mark) return (string.byte(s.marks, u + 1) - 48) % (2 * mark) >= mark end

local function mark(s, u, m)
  if not has(s, u, m) then
    local digit = string.byte(s.marks, u + 1) - 48 + m
    s.marks = string.sub(s.marks, 1, u) .. string.format('%d', digit) .. string.sub(s.marks, u + 2)
    s.changed = true
  end
end

local advance

-- begin starts collecting the joins of a round.
local function begin(s, round)
  local over = { s.base .. 'd' }
  for u = 0, s.units - 1 do over[2 * u + 2], over[2 * u + 3] = tableOf(s, 'j:', u), tableOf(s, 'f:', u) end
  redis.call('UNLINK', unpack(over))
  s.round, s.started, s.full, s.marks, s.publish = round, 0, 0, string.rep('0', s.units), true
  advance(s) -- for units without slots and, after data loss, units that have already joined this round
end

-- record adds to the history why the next round is opened or in-place restarts end, and when the previous round started.
local function record(s, now, ends, cause)
  redis.call('HSET', s.base .. 'h', string.format('%d', (s.round + 1) % 100),
    string.format('%s %d %d %d %s %s', s.gen, s.round + 1, s.startedAt > 0 and s.startedAt + s.pause or 0, now, ends and 'end' or 'next', cause))
end

-- pace delays the next round if rounds keep ending soon after they start.
local function pace(s, now)
  if s.startedAt > 0 then s.early = now - s.startedAt - s.pause < EARLY and math.min(s.early + 1, MOST) or 0 end
  local doublings = s.early - FREE - 1
  s.pause = doublings >= 0 and math.min(FIRST * 2 ^ doublings, s.delay) or 0
end

-- open handles a death: it opens the next round or ends in-place restarts.
local function open(s, cause)
  local now = clock()
  record(s, now, s.round >= s.limit or s.finished == '1', cause)
  s.publish = true
  if s.round >= s.limit then
    s.phase = 'B'
  elseif s.finished == '1' then
    s.phase = 'R'
  else
    pace(s, now)
    s.startedAt = 0
    begin(s, s.round + 1)
  end
end

-- start starts the units below `edge`. If members may hang in this round, because of a death or because a pod was replaced
-- without a report while its peers kept running, it then opens the next round.
local function start(s, edge)
  local died, ran, new = false, false, false
  for u = 0, edge - 1 do
    local enters = u >= s.entered
    died = died or (u >= s.started and (has(s, u, DIED) or (enters and has(s, u, RAN) and has(s, u, NEW))))
    ran = ran or has(s, u, RAN)
    new = new or (not enters and u >= s.started and has(s, u, NEW))
  end
  s.started, s.entered, s.startedAt, s.publish = edge, math.max(s.entered, edge), clock(), true
  if died or (ran and new) then open(s, redis.call('GETRANGE', s.base .. 'd', 0, MAX_TEXT)) end
end

-- advance starts units that have fully joined. Steps enter in order. All entered steps start together.
advance = function(s)
  local edge = 0
  while s.full < s.units do
    local unit = redis.call('HMGET', s.base .. 'g', 'n' .. s.full, 'e' .. s.full)
    if redis.call('HLEN', tableOf(s, 'j:', s.full)) < tonumber(unit[1]) then break end
    s.full, s.changed = s.full + 1, true
    edge = tonumber(unit[2]) == s.full and s.full or edge
  end
  if edge > s.started and edge >= s.entered then start(s, edge) end
end

-- read returns a value that a member may have forged.
local function read(key, slot)
  if redis.call('HSTRLEN', key, slot) > MAX_TEXT then fail('HFFOREIGN') end
  return redis.call('HGET', key, slot)
end

-- joined returns the values of the join in a slot: id, attempt, ran.
local function joined(key, slot) return string.match(read(key, slot) or '', '^(%S+) (%d+) ([01])$') end

-- dirty records a death that may have left peers hanging, so that another round follows.
local function dirty(s, u, cause)
  if not has(s, u, DIED) then redis.call('SET', s.base .. 'd', cause) end
  mark(s, u, DIED)
end

-- dies removes a slot's instance from the round and handles its death. saw: the round was started, but the store has lost that.
local function dies(s, u, slot, ran, cause, saw)
  redis.call('HDEL', tableOf(s, 'j:', u), slot)
  redis.call('HDEL', tableOf(s, 'f:', u), slot)
  if saw then s.entered = math.max(s.entered, u + 1) end
  if saw or u < s.started then return open(s, cause) end
  if u < s.full then s.full, s.changed = u, true end
  if ran then dirty(s, u, cause) end
end

-- again answers a join in a slot that has already joined: either it is repeated, or the previous instance's death was not reported.
local function again(base, key, a, i)
  local id, attempt, ran = joined(key, a[i])
  if id == a[i + 2] then
    return 'J'
  elseif tonumber(attempt or fail('HFFOREIGN')) >= number(a[i + 3], 0) then
    return 'N' .. attempt -- the agent has lost its file: it continues with the next attempt
  end
  local s = load(base)
  if s.phase ~= 'A' or s.round ~= tonumber(a[3]) then return '-' end
  dies(s, tonumber(a[2]), a[i], ran == '1', a[i] .. ' replaced')
  if s.round == tonumber(a[3]) then redis.call('HSETNX', key, a[i], table.concat(a, ' ', i + 2, i + 4)) end
  save(s)
  return 'R'
end

-- remember accepts a member's report that units have entered, which the store may have lost. Their joins may predate the loss, so
-- any of their members may have been running in this round since.
local function remember(s, entered)
  entered = math.min(number(entered, 0), s.units)
  if entered > s.entered then
    s.entered, s.changed = entered, true
    for u = 0, entered - 1 do mark(s, u, RAN) end
  end
end

-- settle records what joining members report about the past, and starts the units that are complete.
local function settle(base, a, past)
  local s, u = load(base), tonumber(a[2])
  if s.phase ~= 'A' or s.round ~= tonumber(a[3]) then return end
  remember(s, a[4])
  if string.find(past, 'n') then mark(s, u, NEW) end
  if string.find(past, 'd') and u >= s.started then mark(s, u, DIED) end
  if string.find(past, 'r') then mark(s, u, RAN) end
  if s.full == u then advance(s) end
  save(s)
end

-- join: inc unit round entered, then for each member: slot pod id attempt ran past. past is one of n (no instance of this pod has
-- run in this generation), h (one has), r (this instance has run in this round) and d (another instance of this pod has died in
-- this round), followed by w if more units have entered than the level says. Replies J (joined), H (another pod holds the slot or
-- is assigned to it, or this pod is assigned another slot), X (the pod is fenced), R (joined, and the previous instance's death is handled),
-- N<attempt> (a later attempt has joined, or this one has died), or - (the round is over; the caller should read the level).
local function join(base, a)
  local u, n, replies, past, g = a[2], #a, {}, '', nil
  if n == 10 then
    g = redis.call('HMGET', base .. 'g', 'inc', 'gen', 'n' .. u, 'x:' .. a[6], 'o:' .. a[5], 'p:' .. a[6])
  elseif n > 4 and n <= 4 + 6 * MAX_BATCH and n % 6 == 4 then
    local query, q = { 'HMGET', base .. 'g', 'inc', 'gen', 'n' .. u }, 5
    for i = 6, n, 6 do query[q + 1], query[q + 2], query[q + 3], q = 'x:' .. a[i], 'o:' .. a[i - 1], 'p:' .. a[i], q + 3 end
    g = redis.call(unpack(query))
  else
    fail('HFARGUMENT')
  end
  if not g[1] then fail('HFNOGROUP') end
  if g[1] ~= a[1] or not g[3] then return '-' end
  local key = base .. 'j:' .. a[1] .. '.' .. string.format('%d', number(a[3], 0)) .. '.' .. u
  local holders = base .. 'w:' .. g[2]
  for i = 5, n, 6 do
    local entry, holder, reply = a[i + 2] .. ' ' .. a[i + 3] .. ' ' .. a[i + 4], read(holders, a[i]), nil
    local f = (i + 3) / 2 -- index of its fields in g
    if g[f] or #entry + #a[i] + #a[i + 1] > MAX_TEXT then
      reply = 'X'
    elseif (holder or a[i + 1]) ~= a[i + 1] or (g[f + 1] or a[i + 1]) ~= a[i + 1] or (g[f + 2] or a[i]) ~= a[i] then
      reply = 'H'
      wakeLeader(base)
    elseif read(holders, '!' .. a[i]) == a[i + 2] then -- a join that arrives after the death was reported
      reply = 'N' .. a[i + 3]
    elseif (holder or redis.call('HSET', holders, a[i], a[i + 1])) and redis.call('HSETNX', key, a[i], entry) == 1 then
      reply = 'J'
    else
      reply = again(base, key, a, i)
    end
    replies[#replies + 1] = reply
    if reply == 'J' and a[i + 5] ~= 'h' then past = past .. string.sub(a[i + 5], 1, 2) end
  end
  if past ~= '' or redis.call('HLEN', key) >= tonumber(g[3]) then settle(base, a, past) end
  return n == 10 and replies[1] or replies
end

-- member begins a call other than join: inc unit slot pod. It returns nil if the incarnation is not current or the group is inactive.
local function member(base, a)
  local g = redis.call('HMGET', base .. 'g', 'inc', 'n' .. number(a[2], 0), 'x:' .. a[4])
  if not g[1] then fail('HFNOGROUP') end
  if #a[3] + #a[4] > MAX_TEXT then fail('HFARGUMENT') end
  local s = g[1] == a[1] and g[2] and not g[3] and load(base)
  return s and s.phase == 'A' and s, tonumber(a[2]), tonumber(g[2])
end

-- down: inc unit slot pod id round ran leaves cause. An instance has died. ran: 1 if its program had started, 2 if the round had
-- started, too. leaves: its pod is terminating and leaves the slot.
local function down(base, a)
  local s, u = member(base, a)
  if not s then return '-' end
  local holders = base .. 'w:' .. s.gen
  local holder = read(holders, a[3])
  if holder == a[4] and a[8] == '1' then redis.call('HDEL', holders, a[3]) end
  local key, cause = tableOf(s, 'j:', u, number(a[6], 0)), string.sub(a[3] .. ' ' .. a[9], 1, MAX_TEXT)
  local id = joined(key, a[3])
  local elsewhere = tonumber(a[6]) ~= s.round -- no round is opened, but this one may come back after data loss
  if elsewhere and id == a[5] then redis.call('HDEL', key, a[3]) end
  if elsewhere then return '-' end
  redis.call('HSET', holders, '!' .. a[3], a[5])
  if holder and holder ~= a[4] then
    if a[7] ~= '0' and u >= s.started then dirty(s, u, cause) end -- the store no longer knows which pod held the slot
  elseif id == a[5] or (not id and a[7] ~= '0') then
    dies(s, u, a[3], a[7] ~= '0', cause, a[7] == '2')
  end
  return save(s)
end

-- lost: inc unit slot pod round entered. The store was rolled back to a state before a round that the caller knows.
local function lost(base, a)
  local s = member(base, a)
  if not s or number(a[5], 0) <= s.round or number(a[5], 0) > s.limit then return '-' end
  remember(s, a[6])
  begin(s, tonumber(a[5]))
  return save(s)
end

-- finish: inc unit slot pod id held. The worker has exited with code 0. held: its agent can run it again.
local function finish(base, a)
  local s, u, n = member(base, a)
  if not s or joined(tableOf(s, 'j:', u), a[3]) ~= a[5] then return '-' end
  local new = redis.call('HSET', tableOf(s, 'f:', u), a[3], a[5]) == 1 -- the leader must not clear the flag without having counted it
  if a[6] ~= '1' and (new or s.finished == '0') then s.finished, s.changed = '1', true end
  if redis.call('HLEN', tableOf(s, 'f:', u)) >= n then wakeLeader(base) end
  return save(s)
end

-- ask: inc unit slot pod cause. A member requests a recreation of the group.
local function ask(base, a)
  local s = member(base, a)
  if not s then return '-' end
  record(s, clock(), true, string.sub(a[3] .. ' ' .. a[5], 1, MAX_TEXT))
  s.phase, s.publish = 'R', true
  return save(s)
end

-- lead rejects the token of a leader that has been replaced. A token is "created transitions".
local function lead(base, token)
  local c, t = string.match(redis.call('HGET', base .. 'g', 'token') or '0 0', '^(%d+) (%d+)$')
  local created, transitions = string.match(token, '^(%d+) (%d+)$')
  if not created then fail('HFARGUMENT') end
  created, transitions, c, t = tonumber(created), tonumber(transitions), tonumber(c), tonumber(t)
  if created < c or (created == c and transitions < t) then fail('HFSTALELEADER') end
end

-- unfinish forgets that a worker has finished, because its pod was deleted. If it was the only one, failures need no new Jobs.
local function unfinish(s, u, slot)
  if s.finished == '0' or redis.call('HDEL', tableOf(s, 'f:', u), slot) == 0 then return end
  for other = 0, s.units - 1 do if redis.call('HLEN', tableOf(s, 'f:', other)) > 0 then return end end
  s.finished = '0'
end

-- release: inc unit slot pod token cause, then optionally the pod that is assigned the slot and the name of its own slot. Fences a
-- pod that can no longer run, frees its slot in any phase, and handles the death of its instance. Without a pod, it only assigns the
-- slot. It does so if no pod holds the slot and the new pod has none. An assignment lasts until the slot is assigned to another pod.
-- The cause begins with the slot that failed, because deleting a Job for one slot also ends other workers.
local function release(base, a)
  lead(base, a[5])
  local slot, pod, heir = a[3], a[4], a[7] or ''
  local g = redis.call('HMGET', base .. 'g', 'inc', 'n' .. number(a[2], 0), 'o:' .. slot, 'x:' .. heir, 'p:' .. heir)
  if not g[2] then fail(g[1] and 'HFARGUMENT' or 'HFNOGROUP') end
  redis.call('HSET', base .. 'g', 'token', a[5], pod ~= '' and 'x:' .. pod or 'token', pod ~= '' and '1' or a[5])
  local s, u, owner = load(base), tonumber(a[2]), g[3]
  local holders, holder = base .. 'w:' .. s.gen, read(base .. 'w:' .. s.gen, slot)
  s.changed = true
  if holder == pod then
    redis.call('HDEL', holders, slot)
    holder = heir
    local id, _, ran = joined(tableOf(s, 'j:', u), slot)
    if id and s.inc == a[1] and s.phase == 'A' then
      unfinish(s, u, slot)
      dies(s, u, slot, ran == '1', a[6])
    end
  end
  local free = (holder or heir) == heir and (not owner or owner == pod or owner == heir) and not g[4] and (g[5] or slot) == slot
  if heir ~= '' and free and s.inc == a[1] and s.phase == 'A' and (a[8] == slot or read(holders, a[8]) ~= heir) then
    if owner and owner ~= heir then redis.call('HDEL', base .. 'g', 'p:' .. owner) end
    redis.call('HSET', base .. 'g', 'o:' .. slot, heir, 'p:' .. heir, slot, 'h:' .. slot, a[8])
    redis.call('HSET', holders, slot, heir)
    s.publish = true
  end
  return save(s)
end

-- set: token, state before, state, then the fields of g. Writes state and g if the stored state is still the one before; '' if there
-- is no group. Comparing seq would not suffice, because the two sides of a partitioned store may have the same one.
local function set(base, a)
  lead(base, a[1])
  local exists = redis.call('HSTRLEN', base .. 'g', 'inc') > 0
  if a[2] ~= (exists and redis.call('GETRANGE', base .. 's', 0, MAX_TEXT) or '') then return '-' end
  redis.call('DEL', base .. 'g')
  redis.call('HSET', base .. 'g', 'token', a[1])
  for i = 4, #a, 1000 do redis.call('HSET', base .. 'g', unpack(a, i, math.min(i + 999, #a))) end -- chunks fit on Lua's stack
  redis.call('SET', base .. 's', a[3])
  local s = load(base)
  s.publish = true
  advance(s)
  return save(s)
end

-- look: table (without the group's prefix), then fields. Returns the values to the leader, '' for absent and overlong ones.
local function look(base, a)
  local key, values = base .. a[1], {}
  for i = 2, #a do
    local length = redis.call('HSTRLEN', key, a[i])
    values[i - 1] = length > 0 and length <= 2 * MAX_TEXT and redis.call('HGET', key, a[i]) or ''
  end
  return values
end

-- register registers a function that checks its arguments. The state's key provides the prefix of the group's keys.
local function register(name, arity, body, flag)
  redis.register_function({ function_name = 'hf' .. VERSION .. '_' .. name, flags = { flag }, callback = function(keys, a)
    if #keys ~= 1 or string.sub(keys[1], -2) ~= ':s' or #a < arity then return redis.error_reply('HFARGUMENT') end
    for i = 1, #a do if #a[i] > MAX_TEXT then return redis.error_reply('HFARGUMENT') end end
    return body(string.sub(keys[1], 1, -2), a)
  end })
end
local list = {
  { 'join', 10, join }, { 'down', 9, down }, { 'lost', 6, lost }, { 'finish', 6, finish }, { 'ask', 5, ask },
  { 'release', 6, release }, { 'set', 11, set }, { 'look', 2, look, 'no-writes' },
}
for i = 1, #list do register(list[i][1], list[i][2], list[i][3], list[i][4]) end
redis.register_function({ function_name = 'hf_version', flags = { 'no-writes' }, callback = function() return VERSION end })
