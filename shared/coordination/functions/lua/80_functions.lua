-- The functions: arguments in, decision, one write, reply out. KEYS are s, w, x, h; the first argument is the channel.

local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- message is the error reply for what pcall has caught: ours is a table, the server's own a text that begins with a code
-- in capitals, and anything else a mistake in these files.
local function message(err)
  if type(err) == 'table' then
    return err.reply or err.err
  end
  return string.find(err, '^%u+ ') and err or 'HFBUG ' .. err
end

-- register wraps a call: an error reply writes nothing, but for a fence. One that only reads writes
-- nothing either, though what it has read could be written in another way.
local function register(name, arity, body, flags)
  local finish = flags and Group.keep or Group.save
  local function callback(keys, args)
    if #keys ~= 4 or #args < arity then
      return redis.error_reply('HFARGUMENT ' .. name .. ' takes 4 keys and ' .. arity .. ' arguments')
    end
    local g = Group.at(keys, args[1])
    local ok, result = pcall(body, g, args)
    if ok or (type(result) == 'table' and result.keep) then
      local saved, err = pcall(finish, g)
      if not saved then
        return redis.error_reply(message(err))
      end
    end
    return ok and result or redis.error_reply(message(result))
  end
  redis.register_function({ function_name = 'hf' .. VERSION .. '_' .. name, flags = flags or {}, callback = callback })
end

-- Every version of this library has this function, so that clients of another one can say what is wrong.
redis.register_function({ function_name = 'hf_version', flags = { 'no-writes' }, callback = function() return VERSION end })

-- member reads: slot pod podBorn.
local function member(args)
  return {
    slot = args[2], pod = args[3], podBorn = argument(args[4]), podName = '', node = '', id = '', born = 0,
    seen = { epoch = 0, round = NO_ROUND, instances = 0 },
  }
end

-- instance reads on: id born, and what was seen: epoch round holds running entered instances; then barrier.
local function instance(args)
  return {
    slot = args[2], pod = args[3], podBorn = argument(args[4]), podName = '', node = '', id = args[5], born = argument(args[6]),
    seen = {
      epoch = argument(args[7]), round = argument(args[8]), holds = args[9] == '1', running = args[10] == '1',
      entered = args[11] == '1', instances = argument(args[12]),
    },
    barrier = args[13] == '1', runsFor = 0, goneFor = 0,
  }
end

-- place reads two names from there on.
local function place(call, args, at)
  call.podName, call.node = args[at], args[at + 1]
  return call
end

-- summary is: level token limit size joined done dirty stages counts record maxDelay.
local function summary(g)
  return {
    g:level(), tokenRecord.write(g:lazy('token')), format(g.limit), format(g:size()), format(g:joined()), format(g:done()),
    g:mustRepeat() and '1' or '0', stages.write(g.stages), counts.write(g.counts), g:wholeRecord(), format(g.maxDelay),
  }
end

-- join reads on: podName node runsFor goneFor.
register('join', 17, function(g, args)
  g:mustLoad()
  local call = place(instance(args), args, 14)
  call.runsFor, call.goneFor = argument(args[16]), argument(args[17])
  return g:join(call, clock())
end)

-- down reads on: exitCode ordered failedAt detectedAt podName node kind signal reason.
register('down', 22, function(g, args)
  g:mustLoad()
  local call = place(instance(args), args, 18)
  call.kind, call.signal, call.reason = args[20], argument(args[21]), args[22]
  call.exitCode, call.ordered = argument(args[14]), args[15] == '1'
  call.failedAt, call.detectedAt = argument(args[16]), argument(args[17])
  return g:down(call, clock())
end)

-- ask reads on: kind.
register('ask', 5, function(g, args)
  g:mustLoad()
  return g:ask(member(args), args[5], clock())
end)

-- open reads: token incarnation epoch limit stages suspended recover reset maxDelay, then the finished slots.
register('open', 10, function(g, args)
  local o = {
    token = tokenRecord.read(args[2]), inc = args[3], epoch = argument(args[4]), limit = argument(args[5]),
    stages = stages.read(args[6]), suspended = args[7] == '1', recover = args[8] == '1', reset = args[9] == '1',
    maxDelay = argument(args[10]), done = args, doneFrom = 11,
  }
  g:open(o, clock())
  return summary(g)
end)

-- recreate reads: token epoch round kind.
register('recreate', 5, function(g, args)
  g:mustLoad()
  g:recreate(tokenRecord.read(args[2]), argument(args[3]), argument(args[4]), args[5])
  return summary(g)
end)

-- evict reads: token slot pod.
register('evict', 4, function(g, args)
  g:mustLoad()
  g:evict(tokenRecord.read(args[2]), args[3], args[4], clock())
  return summary(g)
end)

-- drop reads: token. What cannot be read is dropped as well.
register('drop', 2, function(g, args)
  local token = tokenRecord.read(args[2])
  checkToken(token)
  g:leadIfReadable(token)
  g:drop()
  return 'OK'
end)

register('missing', 1, function(g)
  g:mustLoad()
  return g:missing()
end, { 'no-writes' })

register('summary', 1, function(g)
  g:mustLoad()
  return summary(g)
end, { 'no-writes' })
