//! JavaScript values, made and read.

use std::ptr;

use leaseflake::Id;
use napi_sys as sys;

use crate::edge::Env;
use crate::fault::Fault;

/// A JavaScript value, valid while the call runs that it belongs to.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Value(pub(crate) sys::napi_value);

impl Value {
    /// What a function gives that returns nothing.
    pub(crate) const UNDEFINED: Value = Value(ptr::null_mut());
}

/// Makes a value through one Node-API function, whose last argument is the place for it.
macro_rules! make {
    ($function:ident, $env:expr $(, $argument:expr)*) => {{
        let mut made = ptr::null_mut();
        // SAFETY: a live environment, on its thread; texts are copied.
        Fault::check(unsafe { sys::$function($env.raw() $(, $argument)*, &mut made) }).map(|()| Value(made))
    }};
}

impl Env {
    pub(crate) fn undefined(self) -> Result<Value, Fault> {
        make!(napi_get_undefined, self)
    }

    pub(crate) fn null(self) -> Result<Value, Fault> {
        make!(napi_get_null, self)
    }

    pub(crate) fn flag(self, flag: bool) -> Result<Value, Fault> {
        make!(napi_get_boolean, self, flag)
    }

    /// A number: exact up to 2^53.
    pub(crate) fn number(self, number: i64) -> Result<Value, Fault> {
        make!(napi_create_int64, self, number)
    }

    /// An ID is a bigint: a number would lose its last digits.
    #[inline]
    pub(crate) fn id(self, id: Id) -> Result<Value, Fault> {
        make!(napi_create_bigint_int64, self, id.as_i64())
    }

    pub(crate) fn text(self, text: &str) -> Result<Value, Fault> {
        make!(napi_create_string_utf8, self, text.as_ptr().cast(), text.len() as isize)
    }

    pub(crate) fn digits(self, id: Id) -> Result<Value, Fault> {
        let mut room = [0_u8; 19];
        let mut begin = room.len();
        let mut rest = id.as_i64().unsigned_abs();
        while rest > 0 {
            begin -= 1;
            room[begin] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let digits = &room[begin..];
        make!(napi_create_string_latin1, self, digits.as_ptr().cast(), digits.len() as isize)
    }

    pub(crate) fn object(self) -> Result<Value, Fault> {
        make!(napi_create_object, self)
    }

    /// Sets a property of an object that we made.
    pub(crate) fn set(self, object: Value, name: &str, value: Value) -> Result<(), Fault> {
        let key = self.text(name)?;
        // SAFETY: values of this call.
        Fault::check(unsafe { sys::napi_set_property(self.raw(), object.0, key.0, value.0) })
    }

    pub(crate) fn array(self, values: impl ExactSizeIterator<Item = Result<Value, Fault>>) -> Result<Value, Fault> {
        let array = make!(napi_create_array_with_length, self, values.len())?;
        for (place, value) in (0..).zip(values) {
            // SAFETY: values of this call.
            Fault::check(unsafe { sys::napi_set_element(self.raw(), array.0, place, value?.0) })?;
        }
        Ok(array)
    }

    pub(crate) fn texts(self, texts: &[String]) -> Result<Value, Fault> {
        self.array(texts.iter().map(|text| self.text(text)))
    }

    /// The text of a string; not a string is a bug of ours, for the package passes strings.
    pub(crate) fn text_of(self, value: Value) -> Result<String, Fault> {
        let mut length = 0;
        // SAFETY: no room asks for the length alone.
        Fault::check(unsafe { sys::napi_get_value_string_utf8(self.raw(), value.0, ptr::null_mut(), 0, &mut length) })?;
        let mut room = vec![0_u8; length + 1];
        // SAFETY: room for the text and the zero after it.
        Fault::check(unsafe {
            sys::napi_get_value_string_utf8(self.raw(), value.0, room.as_mut_ptr().cast(), room.len(), &mut length)
        })?;
        room.truncate(length);
        Ok(String::from_utf8_lossy(&room).into_owned())
    }

    /// As `text_of`; `None` for `undefined`.
    pub(crate) fn given_text_of(self, value: Value) -> Result<Option<String>, Fault> {
        let mut kind = 0;
        // SAFETY: a value of this call.
        Fault::check(unsafe { sys::napi_typeof(self.raw(), value.0, &mut kind) })?;
        if kind == sys::ValueType::napi_undefined { Ok(None) } else { self.text_of(value).map(Some) }
    }

    pub(crate) fn texts_of(self, array: Value) -> Result<Vec<String>, Fault> {
        let mut length = 0;
        // SAFETY: a value of this call.
        Fault::check(unsafe { sys::napi_get_array_length(self.raw(), array.0, &mut length) })?;
        (0..length).map(|place| self.text_of(make!(napi_get_element, self, array.0, place)?)).collect()
    }

    pub(crate) fn number_of(self, value: Value) -> Result<f64, Fault> {
        let mut number = 0.0;
        // SAFETY: a value of this call.
        Fault::check(unsafe { sys::napi_get_value_double(self.raw(), value.0, &mut number) })?;
        Ok(number)
    }

    /// The memory of a BigInt64Array or BigUint64Array that no other thread can see; `None` for
    /// anything else.
    pub(crate) fn numbers_of(self, value: &mut Value) -> Result<Option<&mut [i64]>, Fault> {
        let mut typed = false;
        // SAFETY: a value of this call.
        Fault::check(unsafe { sys::napi_is_typedarray(self.raw(), value.0, &mut typed) })?;
        if !typed {
            return Ok(None);
        }
        let (mut kind, mut length, mut data, mut buffer, mut offset) = (0, 0, ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: it is a typed array.
        Fault::check(unsafe {
            sys::napi_get_typedarray_info(
                self.raw(),
                value.0,
                &mut kind,
                &mut length,
                &mut data,
                &mut buffer,
                &mut offset,
            )
        })?;
        let mut private = false;
        // SAFETY: the array's buffer; a shared one is no ArrayBuffer.
        Fault::check(unsafe { sys::napi_is_arraybuffer(self.raw(), buffer, &mut private) })?;
        let wide = matches!(kind, sys::TypedarrayType::bigint64_array | sys::TypedarrayType::biguint64_array);
        if !wide || !private {
            return Ok(None);
        }
        if length == 0 {
            return Ok(Some(&mut []));
        }
        // SAFETY: `length` numbers of 64 bits, aligned as JavaScript demands of such an array. No
        // JavaScript runs before the call returns, and no other thread sees the memory, so nothing
        // reads, writes, moves or frees it meanwhile.
        Ok(Some(unsafe { std::slice::from_raw_parts_mut(data.cast::<i64>(), length) }))
    }
}

/// `lease_ttl_ms` -> `leaseTtlMs`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        camel.push_str(&first.to_ascii_uppercase());
        camel.push_str(rest);
    }
    camel
}
