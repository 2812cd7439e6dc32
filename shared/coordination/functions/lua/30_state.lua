-- Where a group is kept: its hash s, the slots w, the fenced pods x, the history h, and the channel. Reading validates;
-- writing happens once, at the end of a call, and touches only what changed.

local Group = {}
Group.__index = Group

-- What the last call on a group has left is kept: the texts of its state, and what they were read as. A text that is still
-- there is not read again, for a report changes few of them. A call takes the group out, and puts it back when all is written:
-- what a failed call has changed is forgotten. What is kept is bounded by its size, because members can make up texts.
local kept, keptSize = {}, 0
local MAX_KEPT = 16777216
local SIZE, SIZE_PER_BYTE = 8192, 20 -- of a group's tables, about; the latter for its lists

-- clear forgets what belongs to one call.
local function clear(g)
  g.slots, g.rawSlots, g.fences, g.finishedRecords, g.rawLazy = {}, {}, {}, {}, {}
  g.token, g.record, g.recovery, g.staged = false, false, false, false
  g.replaceAll, g.replaceSlots, g.dropped, g.amended = false, false, false, false
end

-- at is a group for one call. All keys are the caller's: a member could have given others with the first one.
function Group.at(keys, channel)
  local g = kept[keys[1]]
  if g then
    kept[keys[1]], keptSize = nil, keptSize - g.weight
  else
    g = setmetatable({ keys = {}, texts = {}, loaded = {} }, Group)
    clear(g)
  end
  g.keys.s, g.keys.w, g.keys.x, g.keys.h = keys[1], keys[2], keys[3], keys[4]
  g.channel = channel
  return g
end

function Group:keep()
  local lists = 0
  for i = 1, #LISTS do
    if not self.texts[LISTS[i]] then
      return -- nothing was read, or all was dropped
    end
    lists = lists + #self.texts[LISTS[i]]
  end
  self.weight = SIZE + SIZE_PER_BYTE * lists
  if keptSize + self.weight > MAX_KEPT then
    kept, keptSize = {}, 0
  end
  if self.weight <= MAX_KEPT then
    clear(self)
    kept[self.keys.s], keptSize = self, keptSize + self.weight
  end
end

-- get calls a reading command. A key of another type holds a foreign value.
function Group:get(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'WRONGTYPE', 1, true) then
      foreign(key, '', 'a ' .. redis.call('TYPE', key).ok)
    end
    error(reply, 0)
  end
  return reply
end

local function isEmpty(raw)
  for i = 1, #STATE do
    if raw[i] then
      return false
    end
  end
  return true
end

-- load reads the state and tells whether there is one.
function Group:load()
  local raw = self:get('HMGET', self.keys.s, unpack(STATE_FIELDS))
  if not raw[1] and isEmpty(raw) then
    return false
  end
  local texts, same = self.texts, true
  for i = 1, #STATE do
    if texts[i] ~= raw[i] then
      local field = STATE_FIELDS[i]
      self[field] = self:read(field, STATE_KINDS[i], raw[i])
      self.loaded[i], texts[i], same = self[field], raw[i], false
    end
  end
  if not same then
    self:checkSizes()
  end
  self.told = self:tokens()
  return true
end

-- checkSizes holds the lists against each other, so that no rule has to.
function Group:checkSizes()
  if #self.counts ~= #self.stages then
    foreign(self.keys.s, 'counts', #self.counts .. ' for ' .. #self.stages .. ' stages')
  end
  local slots = 0
  for i = 1, #self.stages do
    if self.stages[i].step >= #self.steps then
      foreign(self.keys.s, 'steps', #self.steps .. ' for step ' .. self.stages[i].step)
    end
    slots = slots + self:slotsOf(i)
  end
  if #self.steps > MAX_STEPS or slots > MAX_SLOTS then
    foreign(self.keys.s, 'stages', slots .. ' slots in ' .. #self.steps .. ' steps')
  end
end

function Group:read(field, kind, raw)
  local value = raw and kind.read(raw)
  if not value then
    foreign(self.keys.s, field, raw or 'nothing')
  end
  return value
end

-- lazy reads a field of LAZY when it is first asked for.
function Group:lazy(field)
  if not self[field] then
    local raw = self:get('HGET', self.keys.s, field)
    self[field], self.rawLazy[field] = self:read(field, LAZY[field], raw), raw
  end
  return self[field]
end

-- mustLoad is for calls that create no group.
function Group:mustLoad()
  if not self:load() then
    fail('HFNOGROUP', 'no group is open under this JobSet UID')
  end
end

-- slot reads one slot's record, nil if the slot has none.
function Group:slot(name)
  if self.slots[name] == nil and not self.replaceSlots and self.rawSlots[name] == nil then
    local raw = self:get('HGET', self.keys.w, name)
    if raw then
      self:cache(name, raw)
    end
  end
  return self.slots[name]
end

function Group:cache(name, raw)
  local slot = slotRecord.read(raw)
  if not slot then
    foreign(self.keys.w, name, raw)
  end
  self.slots[name], self.rawSlots[name] = slot, raw
end

-- allSlots reads every slot: O(N), for the calls that change all of them.
function Group:allSlots()
  if not self.replaceSlots then
    local flat = self:get('HGETALL', self.keys.w)
    for i = 1, #flat, 2 do
      if self.rawSlots[flat[i]] == nil then
        self:cache(flat[i], flat[i + 1])
      end
    end
  end
  return self.slots
end

function Group:forgetSlots()
  self.slots, self.rawSlots, self.replaceSlots = {}, {}, true
end

function Group:isFenced(pod)
  return self.fences[pod] or self:get('SISMEMBER', self.keys.x, pod) == 1
end

function Group:fence(pod)
  self.fences[pod] = true
end

function Group:level()
  return string.format('%s %s %d %d %d %s %d %s %d',
    VERSION, self.inc, self.gen, self.epoch, self.round, self.phase, self.seq, self:tokens(), self.delay)
end

-- write notes a command; a long list of arguments is cut into parts that fit on Lua's stack.
local function write(writes, command, key, args)
  for from = 1, #args, 1000 do
    writes[#writes + 1] = { command, key, unpack(args, from, math.min(from + 999, #args)) }
  end
end

-- save writes what the call has changed. All of it is checked and formatted first, so that nothing is written in part;
-- then the broadcast comes first: if it is refused, nothing has been written.
function Group:save()
  if self.dropped then
    return self:removeAll()
  end
  local told = self.loaded[SEQ]
  local writes = {}
  self:saveState(writes)
  self:saveSlots(writes)
  self:saveFences(writes)
  self:saveHistory(writes)
  if told ~= self.seq then
    redis.call('PUBLISH', self.channel, self:level())
  end
  if self.replaceAll then
    self:removeAll()
  end
  for i = 1, #writes do
    redis.call(unpack(writes[i]))
  end
  self:keep()
end

function Group:removeAll()
  redis.call('DEL', self.keys.s, self.keys.w, self.keys.x, self.keys.h)
end

-- drop removes all that is stored of the group.
function Group:drop()
  self.dropped = true
end

function Group:saveState(writes)
  local changed, loaded, texts = {}, self.loaded, self.texts
  for i = 1, #STATE do
    local field = STATE_FIELDS[i]
    local value = self[field]
    if CHANGES_WITHIN[i] or value ~= loaded[i] then
      local text = STATE_KINDS[i].write(value)
      if text ~= texts[i] then
        changed[#changed + 1] = field
        changed[#changed + 1] = text
      end
      loaded[i], texts[i] = value, text
    end
  end
  for field, kind in pairs(LAZY) do
    local text = self[field] and kind.write(self[field])
    if text and text ~= self.rawLazy[field] then
      changed[#changed + 1] = field
      changed[#changed + 1] = text
    end
  end
  write(writes, 'HSET', self.keys.s, changed)
end

function Group:saveSlots(writes)
  if self.replaceSlots and not self.replaceAll then
    writes[#writes + 1] = { 'DEL', self.keys.w }
  end
  local changed, gone = {}, {}
  for name, slot in pairs(self.slots) do
    local value = slotRecord.write(slot)
    if value ~= self.rawSlots[name] then
      changed[#changed + 1] = name
      changed[#changed + 1] = value
    end
  end
  for name in pairs(self.rawSlots) do
    if self.slots[name] == nil then
      gone[#gone + 1] = name
    end
  end
  write(writes, 'HSET', self.keys.w, changed)
  write(writes, 'HDEL', self.keys.w, gone)
end

function Group:saveFences(writes)
  local pods = {}
  for pod in pairs(self.fences) do
    pods[#pods + 1] = pod
  end
  if #pods > 0 and not self.replaceAll then
    self:get('SISMEMBER', self.keys.x, '')
  end
  write(writes, 'SADD', self.keys.x, pods)
end

function Group:saveHistory(writes)
  if self.amended and self:get('LLEN', self.keys.h) > 0 then
    writes[#writes + 1] = { 'LSET', self.keys.h, -1, self:wholeRecord() }
  end
  if #self.finishedRecords > 0 then
    if not self.replaceAll then
      self:get('LLEN', self.keys.h)
    end
    write(writes, 'RPUSH', self.keys.h, self.finishedRecords)
    writes[#writes + 1] = { 'LTRIM', self.keys.h, -HISTORY_LENGTH, -1 }
  end
end
