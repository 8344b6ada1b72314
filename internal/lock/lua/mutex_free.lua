-- Prelude of scripts that free the mutex.

-- free writes that the mutex is free. A Redis that is full refuses a script's first write if that needs memory, and
-- allows all others after one that gives some back.
--
-- key    the lock
-- state  "-token since"
-- ms     how long it stays
local function free(key, state, ms)
  if redis.pcall('SET', key, state, 'PX', ms).err then
    redis.call('DEL', key)
    redis.call('SET', key, state, 'PX', ms)
  end
end

-- released reports whether a holder with the token, who is not there any more, has released, as far as is known.
--
-- state  what the lock's key holds, or false
-- token  text; "" when the caller does not know it
local function released(state, token)
  local last, since = string.match(state or '', '^%-(%d+) (%d+)')
  if not last then
    last, since = string.match(state or '', '^%S+ (%d+) (%d+) ')
  end
  token = tonumber(token)
  return last and token and tonumber(since) <= token and token <= tonumber(last)
end
