-- Prelude of scripts that free the mutex.

-- free marks the mutex as free. A full Redis refuses a script whose first write needs memory, but allows all writes
-- after one that frees some.
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

-- released reports whether the holder with this token, who does not hold the lock any more, is known to have released.
--
-- state  the value of the lock's key, or false
-- token  text; "" if the caller does not know it
local function released(state, token)
  local last, since = string.match(state or '', '^%-(%d+) (%d+)')
  if not last then
    last, since = string.match(state or '', '^%S+ (%d+) (%d+) ')
  end
  token = tonumber(token)
  return last and token and tonumber(since) <= token and token <= tonumber(last)
end
