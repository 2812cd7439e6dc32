-- open.go: what the leader wants.

local function less(t, u)
  if t.created ~= u.created then
    return t.created < u.created
  end
  return t.transitions < u.transitions
end

-- checkToken is the range check of a token that comes from outside.
local function checkToken(t)
  if not t then
    fail('HFARGUMENT', 'the token is not a pair of counts')
  end
end

local function checkOpen(o)
  checkToken(o.token)
  if not isWord(o.inc) then
    fail('HFARGUMENT', 'opening a group: the incarnation is no name')
  end
  if not isCount(o.epoch) or o.epoch < 1 or not isCount(o.limit) or not isCount(o.maxDelay) then
    fail('HFARGUMENT', 'opening a group: epoch, limit and delay must be counts, the epoch from 1')
  end
  if not o.stages then
    fail('HFARGUMENT', 'opening a group: the stages are not a list of names and sizes')
  end
  local n = 0
  for _, stage in ipairs(o.stages) do
    if stage.jobs > MAX_PER_STAGE or stage.pods > MAX_PER_STAGE or stage.step >= MAX_STEPS then
      fail('HFARGUMENT', 'opening a group: a stage has too many slots, or its step is too high')
    end
    n = n + stage.jobs * stage.pods
  end
  if n < 1 or n > MAX_SLOTS or #o.stages > MAX_STAGES then
    fail('HFARGUMENT', 'opening a group: no slots, or more than a group can have')
  end
end

-- create makes the state of a group that the store does not hold.
function Group:create(o, now)
  checkOpen(o)
  if o.inc == '' then
    fail('HFARGUMENT', 'opening a group: no incarnation')
  end
  self.replaceAll, self.replaceSlots = true, true
  self.loaded, self.texts, self.rawLazy, self.slots, self.rawSlots = {}, {}, {}, {}, {}
  self.inc, self.gen, self.epoch, self.round, self.phase, self.seq = o.inc, 0, o.epoch, 0, Closed, 0
  self.token, self.limit, self.stages, self.staged = o.token, o.limit, o.stages, false
  self.earlyEnds, self.delay, self.maxDelay = 0, 0, o.maxDelay
  self.dirty = {}
  self:reset()
  self.recovery = blame({ highest = 0, lowest = 0, ran = 0, hurt = false }, noFailure)
  self:begin(o, now)
  self:addFinished(o.done, o.doneFrom)
  self:settle(now)
end

-- mayReset tells whether unreadable state is to be thrown away. A repeated reset must not throw away what joined since
-- the first one: its incarnation tells that it was done.
function Group:mayReset(o)
  checkToken(o.token)
  self:leadIfReadable(o.token)
  local readable, exists = pcall(self.load, self)
  return not readable or (exists and self.inc ~= o.inc)
end

-- leadIfReadable checks a token against a state that may be damaged.
function Group:leadIfReadable(token)
  if redis.call('TYPE', self.keys.s).ok ~= 'hash' then
    return
  end
  local raw = redis.call('HGET', self.keys.s, 'token')
  if raw and tokenRecord.read(raw) then
    self:lead(token)
  end
end

function Group:open(o, now)
  if o.reset and self:mayReset(o) then
    return self:create(o, now)
  end
  if not self:load() then
    return self:create(o, now)
  end
  checkOpen(o)
  self:lead(o.token)
  if o.epoch < self.epoch then
    fail('HFSTALEEPOCH', 'the group is in epoch ' .. format(self.epoch) .. ', not ' .. format(o.epoch))
  end
  local resized = stages.write(self.stages) ~= stages.write(o.stages)
  local later = o.epoch > self.epoch
  local before = self.stages
  self.token, self.limit, self.stages, self.staged, self.maxDelay = o.token, o.limit, o.stages, false, o.maxDelay
  if resized then
    self:carryOver(before)
  end
  if later then
    self:empty()
    self.epoch, self.round = o.epoch, 0
    self.earlyEnds, self.delay = 0, 0
    self:begin({ suspended = o.suspended }, now)
  elseif o.suspended then
    if self.phase ~= Closed then
      self:to(Closed)
    end
  elseif self.phase == Closed and next(self:allSlots()) == nil then
    self:begin({}, now)
  elseif self.phase == Closed then
    self:recover() -- closed and opened within an epoch: its pods may never have been stopped
  elseif resized and self.phase ~= Recreating and self.phase ~= Terminal and self.phase ~= Completed then
    self:recover()
  end
  self:addFinished(o.done, o.doneFrom)
  self:settle(now)
end

-- begin enters the first phase of an epoch.
function Group:begin(o, now)
  self:newRecord(self.round, {}, now)
  if o.suspended then
    self:to(Closed)
  elseif o.recover then
    self:recover()
  else
    self:to(Forming)
  end
end

-- addFinished counts slots whose worker is known to have finished, while their step forms or the group collects what is
-- known.
function Group:addFinished(names, from)
  for n = from, #names do
    local i = self:stage(names[n])
    if i and not self.counts[i].left and self:waits(i) then
      self:addFinishedSlot(i, names[n])
    end
  end
  self:leaveWhole(names, from)
end

-- leaveWhole lets the stages go of which every slot is known to have finished, whatever the store has heard.
function Group:leaveWhole(names, from)
  if self:leaving() or self.phase == Terminal then
    return
  end
  local known, finished = {}, {}
  for n = from, #names do
    local i = self:stage(names[n])
    if i and not known[names[n]] then
      known[names[n]], finished[i] = true, (finished[i] or 0) + 1
    end
  end
  for i = 1, #self.stages do
    local all = self:slotsOf(i)
    if finished[i] == all and not self.counts[i].left then
      self.counts[i] = { joined = all, done = all, gone = all, left = true }
    end
  end
end

-- waits tells whether a stage's slots are still to join for the first time.
function Group:waits(i)
  return self.phase == Recovering or (self:forming(i) and not self:leaving() and self.phase ~= Terminal)
end

function Group:addFinishedSlot(i, name)
  local s = self:slot(name)
  if s ~= nil and s.generation == self.gen and (not s.dead or self:counted(i, s)) then
    return
  end
  if s == nil then
    s = { pod = '', podBorn = 0, podName = '', node = '', id = '', born = 0, ran = false, round = NO_ROUND }
    self.slots[name] = s
  end
  s.dead, s.finished, s.barrier, s.generation = true, true, false, self.gen
  self:count(i, s, 1)
end

-- empty fences whoever holds a slot.
function Group:empty()
  for _, s in pairs(self:allSlots()) do
    if s.pod ~= '' then
      self:fence(s.pod)
    end
  end
  self:forgetSlots()
  self.dirty = {}
  self:reset()
end

local function sameStage(a, b)
  return stageRecord.write(a) == stageRecord.write(b)
end

-- carryOver forgets the slots that are no more, and keeps of the others' stages and steps what stays true.
function Group:carryOver(before)
  local kept = {}
  for name, s in pairs(self:allSlots()) do
    if self:stage(name) then
      kept[name] = s
    end
  end
  self.slots = kept
  local counts, steps = self.counts, self.steps
  self:reset()
  for k in ipairs(self.steps) do
    self.steps[k] = steps[k] or self.steps[k]
  end
  for i, stage in ipairs(self.stages) do
    for at = #before, 1, -1 do -- of equal ones the first counts
      if sameStage(before[at], stage) then
        self.counts[i] = counts[at].left and counts[at] or self.counts[i]
      end
    end
  end
  self:recount()
end

function Group:lead(token)
  checkToken(token)
  if less(token, self:lazy('token')) then
    fail('HFSTALELEADER', 'its token is ' .. tokenRecord.write(self.token) .. ', ours ' .. tokenRecord.write(token))
  end
end

-- recreate gives up the round if the group is still restarting it.
function Group:recreate(token, epoch, round, kind)
  self:lead(token)
  if kind == '' or not isWord(kind) then
    fail('HFARGUMENT', 'recreating a group: the kind is no name')
  end
  self.token = token
  local stuck = self.phase == Restarting or self.phase == Recovering
  if stuck and self.epoch == epoch and self.round == round then
    self:lazy('record').kind = kind
    self:giveUp(Recreating)
  end
end

-- ask requests the recreation of the group for a reason that no restart in place can mend.
function Group:ask(call, kind, now)
  if not isKind(kind) then
    foreign(call.slot, 'argument', kind)
  end
  local held, newPod = self:admit(call, now)
  if held == nil or newPod then
    return self:reply(call.slot, held and held.id or '')
  end
  if self.phase == Running or self.phase == Restarting then
    local record = self:lazy('record')
    blame(record, {
      slot = call.slot, kind = kind, podName = held.podName, node = held.node,
      failedAt = record.failedAt, detectedAt = record.detectedAt,
    })
    self:giveUp(Recreating)
  end
  return self:reply(call.slot, held and held.id or '')
end
