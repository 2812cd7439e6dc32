-- join.go: a living instance.

-- isStale tells whether an instance is behind the slot's: older, or known to be dead. A finished worker that is held may
-- say so again in the next life of the group.
function Group:isStale(held, call)
  if held == nil then
    return false
  elseif held.id == call.id then
    return held.dead and not (held.finished and held.generation < self.gen)
  end
  return call.born < held.born
end

local function replacedBy(slot, held, newPod)
  return blame({}, {
    slot = slot, kind = newPod and 'pod' or 'replaced', podName = held and held.podName, node = held and held.node,
  })
end

function Group:join(call, now)
  if not isCount(call.runsFor) or not isCount(call.goneFor) or math.max(call.runsFor, call.goneFor) > now then -- longer than there is time
    foreign(call.slot, 'argument', call.runsFor .. ' ' .. call.goneFor)
  end
  local held, newPod = self:admit(call, now)
  local i = self:stage(call.slot)
  if self:leaving() or self.counts[i].left then
    return self:reply(call.slot, call.id)
  end
  if not newPod and self:isStale(held, call) then
    return self:unheard(held, call)
  end
  if not self:enter(i, call, held, newPod, now) then
    self:began(i, held, call.runsFor, now)
    return self:reply(call.slot, call.id)
  end
  self:settle(now)
  return self:reply(call.slot, call.id)
end

-- enter lets an instance into its slot; false if it is there already.
function Group:enter(i, call, held, newPod, now)
  if self:wentBack(i, held, call) then
    self:recover()
  end
  if not newPod and self:hasJoined(held, call) then
    return false
  end
  if newPod then
    self:fence(held.pod)
  end
  self:take(i, call, held, newPod, now)
  return true
end

-- hasJoined tells whether a join is a repetition.
function Group:hasJoined(held, call)
  return held ~= nil and held.id == call.id and held.generation == self.gen
end

-- take puts a new instance into its slot, by phase.
function Group:take(i, call, held, newPod, now)
  call.seen = self:remembered(held, call)
  local wasCurrent = self:current(i, held)
  local wasLive = held ~= nil and not held.dead
  self:count(i, held, -1)
  if self.phase == Recovering then
    if wasCurrent then
      self:hurt(i, held.barrier, replacedBy(call.slot, held, newPod))
    end
    self:see(i, call, replacedBy(call.slot, held, newPod))
  elseif self.phase == Running and not self:forming(i) then
    self:openRound(replacedBy(call.slot, held, newPod), now)
  elseif wasCurrent and wasLive then
    self:soil(i, held, replacedBy(call.slot, held, newPod))
  end
  if wasLive and self:effective(i, held) < self.round then
    self:countDown(i, math.max(self.lastDownAt, now - call.goneFor))
  end
  self.slots[call.slot] = {
    pod = call.pod, podBorn = call.podBorn, podName = call.podName, node = call.node, id = call.id, born = call.born, ran = false,
    round = self:roundOf(call.seen), generation = self.gen, dead = false, finished = false, barrier = call.barrier,
  }
  self:countUp(i, self.slots[call.slot], now)
end

-- roundOf is the round a joining instance belongs to.
function Group:roundOf(seen)
  if self.phase ~= Recovering then
    return self.round
  end
  return self:known(seen)
end

-- countUp accounts for a new instance of the desired round.
function Group:countUp(i, s, now)
  self:count(i, s, 1)
  if self.phase == Forming or (self.phase == Restarting and not self:forming(i)) then
    self.ups = self.ups + 1
    self.firstUpAt = self.ups == 1 and now or self.firstUpAt
    self.lastUpAt = now
    if not s.barrier then
      self.starts = self.starts + 1
      self.lastStartAt = now
    end
  end
end

-- began notes when an instance that waited at the barrier began to run, in the record of the restart that it waited in.
function Group:began(i, s, runsFor, now)
  local waited = s.barrier and not s.ran and not s.dead and not self:forming(i) and self:current(i, s)
  if runsFor == 0 or self.phase ~= Running or not waited then
    return
  end
  local r = self:lazy('record')
  if r.inSyncAt == 0 or r.epoch ~= self.epoch or r.round ~= self.round or self.starts >= self.ups then
    return
  end
  s.ran = true
  self.starts = self.starts + 1
  self.lastStartAt = math.max(self.lastStartAt, r.inSyncAt, now - runsFor)
  self.amended = true
end

-- countDown accounts for the end of an instance of the old round.
function Group:countDown(i, at)
  if self.phase == Restarting and not self:forming(i) then
    self.downs = self.downs + 1
    self.lastDownAt = at
  end
end
